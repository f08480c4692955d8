"""R38: whatever a server sends, what comes out is safe text, and one broken item hides no other."""

import json
from dataclasses import fields, is_dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.client import decode
from jobdeck_tui.client.drills import read_drill
from jobdeck_tui.client.fields import DEPTH_LIMIT, Unreadable, parse, safe_json
from jobdeck_tui.text.sanitise import is_safe

from .corpus import HOSTILE

ROW = {
    "job_id": "a",
    "queue": "q",
    "workflow": "w",
    "owner": None,
    "state": "queued",
    "status": "submitted",
    "outcome": None,
    "reason": None,
    "deadline": "2027-01-15T08:00:00Z",
    "left": 3.0,
    "predicted_finish": None,
    "slack": None,
    "priority": 0,
    "attempt": 0,
    "epoch": None,
    "worker": None,
    "stage": None,
    "stages_done": 0,
    "stages_total": None,
    "heartbeat_age": None,
    "progress_age": None,
    "version": 1,
    "accepted_at": "2027-01-15T08:00:00+00:00",
    "started_at": None,
    "finished_at": None,
    "cancel_requested_at": None,
    "cancel_acknowledged_at": None,
    "slot_taken": False,
    "after": [],
    "thread_id": "t",
    "note": None,
    "error": None,
}
TEXT_FIELDS = (
    "job_id",
    "queue",
    "workflow",
    "state",
    "status",
    "reason",
    "worker",
    "stage",
    "thread_id",
    "note",
    "error",
)

READERS = [
    decode.job,
    decode.job_page,
    decode.overview,
    decode.event,
    decode.job_detail,
    decode.effect,
    decode.notification,
    decode.cluster,
    decode.queue,
    read_drill,
    decode.audit_row,
    decode.workflow,
    decode.report,
    decode.submitted,
    decode.why,
    decode.outcome,
]


def strings(value):
    """Give every string anywhere in a decoded value."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from strings(getattr(value, field.name))
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from strings(key)
            yield from strings(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from strings(entry)


def test_r38_hostile_text_in_any_field_of_a_job_comes_out_safe():
    for text in HOSTILE:
        wire = json.dumps(ROW | dict.fromkeys(TEXT_FIELDS, text) | {"after": [text], "unknown": text})
        job = decode.job(parse(wire))
        assert all(is_safe(said) and len(said) <= 2000 for said in strings(job)), text[:80]


def test_r38_hostile_text_in_an_event_comes_out_safe():
    for text in HOSTILE:
        wire = {"id": text, "name": text, "data": {text: [text, {"chunk": text}]}, "metadata": {"n": 1}}
        event = decode.stream_event("a", 1, text, parse(json.dumps(wire)))
        assert all(is_safe(said, lines=True) for said in strings(event)), text[:80]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(codec=None), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(ROW)), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(data=json_values, row=st.dictionaries(st.sampled_from(sorted(ROW)), json_values, max_size=4))
def test_r38_any_json_is_decoded_safely_or_called_unreadable(data, row):
    for read, wire in product(READERS, (data, ROW | row)):  # making the JSON costs more than reading it
        try:
            value = read(wire)
        except Unreadable:
            continue
        assert all(is_safe(said, lines=True) for said in strings(value)), read.__name__


def test_a_broken_row_is_counted_and_hides_no_other():
    ((rows, unreadable),) = decode.jobs(
        {"jobs": [ROW, {"job_id": 7}, None, ROW | {"accepted_at": "yesterday"}, ROW]}
    )
    assert len(rows) == 2
    assert unreadable == 3
    page = decode.job_page({"jobs": [ROW, {}], "total": 2, "matching": 2, "next": None})
    assert (len(page.jobs), page.unreadable) == (1, 1)


def test_unknown_fields_are_ignored_and_times_become_unix_seconds():
    job = decode.job(ROW | {"something_new": {"deep": [1]}})
    assert job.deadline == job.accepted_at == 1_800_000_000.0


@pytest.mark.parametrize("wire", ["[" * 100_000, "{", "", "nul", '{"a": 1' + "0" * 5000 + "}", b"\xff\xfe"])
def test_what_is_no_json_is_called_unreadable(wire):
    with pytest.raises(Unreadable):
        parse(wire)


def test_deep_and_wide_json_is_cut_and_says_so():
    deep: object = "bottom"
    for _ in range(DEPTH_LIMIT + 5):
        deep = {"a": [deep]}
    assert "⋯" in json.dumps(safe_json(deep), ensure_ascii=False)
    wide = safe_json({"rows": list(range(5000))})
    assert len(wide["rows"]) == 1000
