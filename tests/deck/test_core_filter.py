"""The filter language."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_lines import line_of
from jobdeck_tui.core.filter import FilterError
from jobdeck_tui.core.filter_fields import EVENTS, JOBS

from .rows import NOW, job


def matches(text, **changes):
    return JOBS.compile(text)(job(**changes), NOW)


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("", {}, True),
        ("state:queued", {}, True),
        ("state:QUEUED", {}, True),
        ("state:failed,expired", {"state": "expired"}, True),
        ("state:failed,expired", {}, False),
        ("!state:failed", {}, True),
        ("state:done", {"state": "succeeded"}, True),
        ("state:unfinished", {}, True),
        ("state:finished", {"state": "cancelled"}, True),
        ("state:cancelling", {"state": "cancelled", "cancel_requested_at": NOW, "slot_taken": True}, True),
        ("state:cancelled", {"state": "cancelled", "cancel_requested_at": NOW, "slot_taken": True}, True),
        ("state:ghost", {"state": "running", "heartbeat_age": 30.0}, True),
        ("queue:research", {}, True),
        ("queue:resea", {}, False),
        ("agent:deep*", {}, True),
        ("agent:*search", {}, True),
        ("agent:deep_?esearch", {}, True),
        ("agent:deep", {}, False),
        ("worker:w3", {"worker": "w3-e2"}, True),
        ("worker:w3", {"worker": None}, False),
        ("id:64e5", {}, True),
        ("left<60s", {"deadline": NOW + 59}, True),
        ("left<60s", {"deadline": NOW + 61}, False),
        ("left<1m", {"deadline": NOW + 59}, True),
        ("left<0", {"deadline": NOW - 1}, True),
        ("left<60s", {"deadline": None}, False),
        ("!left<60s", {"deadline": None}, True),
        ("left<60s", {"state": "succeeded", "deadline": NOW}, False),
        ("try>1", {"attempt": 2}, True),
        ("try:1,2", {"attempt": 2}, True),
        ("try>=2", {"attempt": 2}, True),
        ("try<=1", {"attempt": 2}, False),
        ("age>10m", {"accepted_at": NOW - 601}, True),
        ("age>500ms", {"accepted_at": NOW - 0.4}, False),
        ('"free text"', {"note": "some FREE text here"}, True),
        ('!"free text"', {"note": "some free text here"}, False),
        ("demo", {"error": "a demo failed"}, True),
        ("state:queued !demo deep", {}, True),
        ('queue:"re search"', {"queue": "re search"}, True),
        ("  state:queued   deep  ", {}, True),
    ],
)
def test_the_filter_language_selects(text, changes, expected):
    assert matches(text, **changes) is expected


def test_an_unknown_field_is_an_error_that_names_the_fields():
    with pytest.raises(FilterError, match=r"no field color\. Fields: .*age.*state"):
        JOBS.compile("color:red")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("left<soon", "no number for left"),
        ("left<", "needs a value"),
        ("state:runing", "state is never runing. Known: .*running"),
        ("queue>3", "queue is a word"),
        ("a " * 51, "at most 50 terms"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_an_error_in_words(text, said):
    with pytest.raises(FilterError, match=said):
        JOBS.compile(text)


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error_in_words(text):
    with suppress(FilterError):
        JOBS.compile(text)(job(), NOW)


def test_completion_offers_fields_and_known_states():
    assert "state:" in JOBS.complete("queue:a st")
    assert JOBS.complete("state:fail") == ["failed"]
    assert JOBS.complete("state:failed,exp") == ["expired"]
    assert JOBS.complete("nothing:x") == []


def test_events_are_filtered_in_the_same_language():
    event = line_of(Event("64e50cad", 7, "tool.end", NOW - 5, "web_search", {"data": {"output": "12 hits"}}))
    for text in ("type:tool", "name:web*", "id:64e5", "age<10s", "seq>=7", '"12 hits"', "!type:llm"):
        assert EVENTS.compile(text)(event, NOW), text
    assert not EVENTS.compile("type:llm")(event, NOW)


def test_a_hundred_thousand_jobs_are_filtered_in_a_blink():
    jobs = [
        job(job_id=f"job-{n}", deadline=NOW + n % 900, note="writing section 3/7") for n in range(100_000)
    ]
    for text in ("state:queued left<60s try>0", "agent:deep*", '"section 4"'):
        predicate = JOBS.compile(text)
        taken = []
        for _ in range(5):
            started = time.process_time()
            sum(1 for one in jobs if predicate(one, NOW))
            taken.append(time.process_time() - started)
        assert min(taken) < 0.15, (text, taken)
