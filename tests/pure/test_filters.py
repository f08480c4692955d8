"""The filter language and the orders of the job list, as the server reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_views import NOW, running, view
from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.filter_terms import FIELDS, parse
from jobdeck_backend.jobs.filters import compile_terms
from jobdeck_backend.jobs.orders import Order
from jobdeck_backend.jobs.view import JobView

FAILED = view("aaaa-1", outcome="failed", queue="research", workflow="deep_research", attempt=2)
EXPIRED = view("bbbb-2", outcome="expired", queue="demo")
RUNNING = running("cccc-3", deadline=NOW + 30, note="writing section 3/7", worker="w3-e1")
BACKLOG = view("dddd-4", deadline=NOW + 7200, accepted_at=NOW - 900, priority=5)
CANCELLING = view("eeee-5", outcome="cancelled", cancel_requested_at=NOW - 1, heartbeat_at=NOW)
ALL = (FAILED, EXPIRED, RUNNING, BACKLOG, CANCELLING)


UNANSWERED = view(
    "ffff-6", outcome="cancelled", cancel_requested_at=NOW - 1, heartbeat_at=NOW, attempt_ended_at=NOW
)
"""Cancelled, its worker killed before it could acknowledge."""


def found(text: str) -> list[str]:
    matches = compile_terms(parse(text))
    return [one.source.job_id[:4] for one in ALL if matches(one, NOW)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["aaaa", "bbbb", "cccc", "dddd", "eeee"]),
        ("state:failed", ["aaaa"]),
        ("state:failed,expired", ["aaaa", "bbbb"]),
        ("state:FINISHED", ["aaaa", "bbbb"]),
        ("state:unfinished", ["cccc", "dddd", "eeee"]),
        ("state:cancelled", ["eeee"]),
        ("state:cancelling", ["eeee"]),
        ("queue:research agent:deep*", ["aaaa"]),
        ("left<60s", ["cccc"]),
        ("left>1h", ["dddd"]),
        ("left>=2h", ["dddd"]),
        ("try>1", ["aaaa"]),
        ("try:0,2 !state:expired", ["aaaa", "dddd", "eeee"]),
        ("worker:w3", ["cccc"]),
        ("age>10m", ["dddd"]),
        ("!queue:demo !state:failed", ["cccc", "dddd", "eeee"]),
        ('"section 3/7"', ["cccc"]),
        ("SECTION", ["cccc"]),
        ("id:dd", ["dddd"]),
        ("priority=5", ["dddd"]),
        ("epoch:1", ["cccc"]),
        ("!demo", ["aaaa", "cccc", "dddd", "eeee"]),
    ],
)
def test_a_filter_finds_what_it_says(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_an_unknown_field_is_refused_naming_the_fields_there_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_terms(parse("colour:red"))
    assert "colour" in refused.value.message
    assert all(field in refused.value.message for field in FIELDS)


@pytest.mark.parametrize("text", ["state:lost", "left<soon", "queue<3", "try:", "left<", "a " * 60])
def test_a_value_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        compile_terms(parse(text))


@given(st.text(max_size=200))
def test_any_text_is_a_filter_or_is_refused(text: str) -> None:
    try:
        matches = compile_terms(parse(text))
    except InvalidInput:
        return
    for one in ALL:
        assert matches(one, NOW) in {True, False}


SORTS = ("risk", "accepted", "left", "slack", "state", "queue", "worker", "try", "priority", "finished", "id")


@given(
    sort=st.sampled_from([*SORTS, *(f"-{name}" for name in SORTS)]),
    rows=st.lists(
        st.builds(
            view,
            st.uuids().map(str),
            deadline=st.none() | st.floats(NOW, NOW + 3),
            priority=st.integers(0, 2),
            predicted_finish=st.none() | st.just(NOW + 1),
        ),
        max_size=20,
    ),
    size=st.integers(1, 6),
)
def test_pages_of_an_order_are_the_whole_list_once(sort: str, rows: list[JobView], size: int) -> None:
    order, paged = Order(sort, NOW), []
    page = order.sort(rows)[:size]
    while page:
        paged += page
        place = order.place(page[-1])
        page = [row for row in order.sort(rows) if order.is_behind(order.place(row), place)][:size]
    assert paged == order.sort(rows)


def test_an_unknown_order_is_refused_naming_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="accepted, left, slack"):
        Order("beauty", NOW)


def test_r37_a_cancel_that_no_thread_is_left_to_acknowledge_is_not_pending() -> None:
    assert not compile_terms(parse("state:cancelling"))(UNANSWERED, NOW)
    assert compile_terms(parse("state:cancelled"))(UNANSWERED, NOW)
    assert compile_terms(parse("state:finished"))(UNANSWERED, NOW)
