"""The filter language is one: the deck and the server find the same rows, and refuse the same filters.

The rows reach the deck as they do in life: written by the server, read by the client.
"""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_views import NOW, OPEN, running, view
from jobdeck_backend.api.shapes import job_row
from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.filter_terms import FIELDS, parse
from jobdeck_backend.jobs.filters import compile_terms
from jobdeck_tui.client import decode
from jobdeck_tui.core.filter import FilterError
from jobdeck_tui.core.filter_fields import JOBS
from jobdeck_tui.text.format import WORDS

VIEWS = [
    view(
        "fail-1", outcome="failed", queue="research", workflow="deep_research", attempt=2, error="Boom: 500"
    ),
    view("expi-2", outcome="expired", queue="demo", outcome_reason="in queue", deadline=NOW - 5),
    running("runs-3", deadline=NOW + 30, note="writing Section 3/7", worker="w3-e1", owner="ann"),
    view("back-4", deadline=NOW + 7200, accepted_at=NOW - 900, priority=5, predicted_finish=NOW + 7260),
    view("canc-5", outcome="cancelled", cancel_requested_at=NOW - 1, heartbeat_at=NOW),
    view("gone-6", outcome="cancelled", cancel_requested_at=NOW - 1, cancel_acknowledged_at=NOW - 0.5),
    running("ghos-7", heartbeat_at=NOW - 30, attempt=3, epoch=2, worker="w4-e2", stage="report"),
    view("held-8", held_reason="effect uncertain", attempt=1, deadline=NOW - 12),
    view("wait-9", waits_for=(OPEN,), thread_id="t-9", queue="re search"),
    view("over-0", delivered_epoch=1, dask_state="processing", deadline=NOW + 59, owner="Böb"),
]
ROWS = [decode.job(orjson.loads(orjson.dumps(job_row(one, NOW)))) for one in VIEWS]

CASES: list[tuple[str, str]] = [
    ("", "fail expi runs back canc gone ghos held wait over"),
    ("state:failed", "fail"),
    ("state:FAILED,expired", "fail expi"),
    ("state:cancelled", "canc gone"),
    ("state:cancelling", "canc"),
    ("state:running", "runs ghos"),
    ("state:ghost", "ghos"),
    ("state:done", ""),
    ("state:finished", "fail expi gone"),
    ("state:unfinished", "runs back canc ghos held wait over"),
    ("state:*led", "fail gone"),
    ("!state:unfinished", "fail expi gone"),
    ("state:held,waiting,assigned,backlog", "back held wait over"),
    ("status:submitted", "back held wait over"),
    ("queue:research agent:deep*", "fail"),
    ("queue:resea", ""),
    ('queue:"re search"', "wait"),
    ("!queue:demo,probe", "fail wait"),
    ("agent:deep_?esearch", "fail"),
    ("owner:ann", "runs"),
    ("owner:B*", "over"),
    ("!owner:*", ""),
    ("worker:w3", "runs"),
    ("worker:W", "runs ghos"),
    ("stage:report", "ghos"),
    ("id:back", "back"),
    ("thread:t-", "wait"),
    ("left<60s", "runs held over"),
    ("left<0", "held"),
    ("left>=2h", "back"),
    ("!left<1d", "fail expi canc gone ghos wait"),
    ("slack<0", "back"),
    ("age>10m", "back"),
    ("age<500ms", ""),
    ("try>1", "fail ghos"),
    ("try:1,2", "fail runs held"),
    ("try<=1 !state:finished", "runs back canc held wait over"),
    ("priority=5", "back"),
    ("epoch:2", "ghos"),
    ("!epoch<2", "fail expi back canc gone ghos held wait over"),
    ('"section 3/7"', "runs"),
    ("BOOM", "fail"),
    ("uncertain", "held"),
    ("!demo !probe", "fail"),
    ("  try>1   deep  ", "fail"),
    ('!""', "fail expi runs back canc gone ghos held wait over"),
]
REFUSED = [
    "colour:red",
    "state:lost",
    "state:",
    "left<soon",
    "left<",
    "queue<3",
    "try:1,x",
    "! demo",
    "a " * 51,
]


def by_server(text: str) -> list[str] | None:
    """What the server finds; None where it refuses."""
    try:
        matches = compile_terms(parse(text))
    except InvalidInput:
        return None
    return [one.source.job_id for one in VIEWS if matches(one, NOW)]


def by_deck(text: str) -> list[str] | None:
    """What the deck finds; None where it refuses."""
    try:
        matches = JOBS.compile(text)
    except FilterError:
        return None
    return [row.job_id for row in ROWS if matches(row, NOW)]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_deck_and_server_find_what_a_filter_says(text: str, expected: str) -> None:
    found = by_server(text)
    assert found is not None
    assert " ".join(job_id[:4] for job_id in found) == expected
    assert by_deck(text) == found


@pytest.mark.parametrize("text", REFUSED)
def test_deck_and_server_refuse_what_cannot_be_meant(text: str) -> None:
    assert (by_server(text), by_deck(text)) == (None, None)


def test_both_know_the_same_fields() -> None:
    assert sorted(JOBS.fields) == list(FIELDS)


@pytest.mark.parametrize("shown", WORDS.values())
def test_a_state_can_be_asked_for_by_the_word_that_lists_show(shown: str) -> None:
    text = f"state:{shown}"
    assert shown.lower() in JOBS.complete("state:")
    found = by_deck(text)
    assert found is not None
    assert by_server(text) == found


def test_what_lists_show_as_done_is_found_as_done_and_as_succeeded() -> None:
    done = view("done-1", outcome="succeeded")
    row = decode.job(orjson.loads(orjson.dumps(job_row(done, NOW))))
    for text in ("state:DONE", "state:succeeded"):
        assert JOBS.compile(text)(row, NOW)
        assert compile_terms(parse(text))(done, NOW)


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        ["failed", "ghost", "w*", "*", "?", "60s", "-1", "1,2", "a,", '"re search"', "2h", "", "e"]
    ),
    st.text(alphabet='ae*?,1s!:<"[] ', max_size=6),
)
TERMS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "!"]),
    st.sampled_from(["", *FIELDS, "colour", "STATE"]),
    st.sampled_from(["", ":", "=", "<", ">=", ">", "<="]),
    VALUES,
)


@given(st.lists(TERMS, max_size=4).map(" ".join))
def test_no_filter_means_one_thing_to_the_deck_and_another_to_the_server(text: str) -> None:
    assert by_server(text) == by_deck(text)
