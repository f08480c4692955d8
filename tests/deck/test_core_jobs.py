"""The set of known jobs, their orders, their marks and their columns."""

import random
import time
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.client.models import STATES
from jobdeck_tui.core.columns import COLUMNS, GUTTER, cell, display_state, forecast, remark, visible
from jobdeck_tui.core.jobs import JobSet
from jobdeck_tui.core.selection import Selection
from jobdeck_tui.core.sort import COLUMN_KEYS, next_column, order

from .rows import NOW, job


def test_the_newest_arrival_of_a_job_counts():
    jobs = JobSet()
    assert jobs.apply([job(job_id="a"), job(job_id="b")]) == {"a", "b"}
    revision = jobs.revision
    assert jobs.apply([job(job_id="a")]) == set()
    assert jobs.revision == revision
    assert jobs.apply([job(job_id="a", state="running", version=4)]) == {"a"}
    assert jobs.counts == {"queued": 1, "running": 1}
    assert jobs.revision > revision


def test_a_page_that_was_read_before_a_feed_frame_cannot_undo_it():
    jobs = JobSet()
    jobs.apply([job(version=5, state="running", stages_done=2)])
    assert jobs.apply([job(version=4)]) == set()
    assert jobs.apply([job(version=5, state="running", stages_done=1)]) == set()
    assert jobs.apply([job(version=5, state="running", stages_done=3)])


def test_a_complete_listing_makes_the_set_forget_what_is_gone():
    jobs = JobSet()
    jobs.apply([job(job_id="a"), job(job_id="b")])
    jobs.keep_only({"b"})
    assert [known.job_id for known in jobs] == ["b"]
    assert jobs.counts == {"queued": 1}


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(STATES), st.integers(1, 5)), max_size=40))
def test_the_counts_by_state_always_match_the_rows(arrivals):
    jobs = JobSet()
    for number, state, version in arrivals:
        jobs.apply([job(job_id=str(number), state=state, version=version)])
    seen = [known.state for known in jobs]
    assert jobs.counts == {state: seen.count(state) for state in set(seen)}


def test_the_default_order_puts_what_burns_on_top():
    rows = {
        "late": job(deadline=NOW - 30),
        "later": job(deadline=NOW - 10),
        "broken now": job(state="failed", finished_at=NOW - 60),
        "broken before": job(state="failed", finished_at=NOW - 600),
        "held": job(state="held", deadline=None),
        "soon": job(deadline=NOW + 10),
        "in a while": job(deadline=NOW + 100),
        "free": job(deadline=None),
        "done lately": job(state="succeeded", finished_at=NOW - 1),
        "failed long ago": job(state="failed", finished_at=NOW - 3600),
        "done long ago": job(state="succeeded", finished_at=NOW - 7200),
    }
    named = [
        job(**{field: getattr(row, field) for field in row.__slots__} | {"job_id": name})
        for name, row in rows.items()
    ]
    random.Random(7).shuffle(named)
    assert [one.job_id for one in order(named, "risk", NOW)] == list(rows)


def test_every_column_sorts_both_ways_whatever_the_rows_lack():
    bare = job(job_id="bare", deadline=None, worker=None, note=None)
    full = job(job_id="full", worker="w1", note="n", slack=3.0, stage="plan", state="running")
    for column in COLUMN_KEYS:
        assert len(order([bare, full], column, NOW)) == 2
        assert len(order([bare, full], column, NOW, reverse=True)) == 2
    assert next_column("note") == "risk"
    assert next_column("risk", -1) == "note"


def test_a_hundred_thousand_jobs_sort_in_a_blink():
    states = random.Random(1)
    jobs = [
        job(job_id=str(n), deadline=NOW + states.random() * 900, state=states.choice(STATES))
        for n in range(100_000)
    ]
    taken = []
    for _ in range(5):
        started = time.process_time()
        order(jobs, "risk", NOW)
        taken.append(time.process_time() - started)
    assert min(taken) < 0.15, taken


def test_marks_follow_ids_and_a_range_marks_only_what_is_shown():
    marks = Selection()
    assert marks.targets("c") == ("c",)
    assert marks.targets(None) == ()
    assert marks.toggle("a")
    assert not marks.toggle("a")
    marks.start_range("b")
    assert marks.end_range("d", ["a", "d", "c", "b"]) == 3
    assert set(marks.marked) == {"b", "c", "d"}
    assert marks.targets("a") == marks.marked
    marks.clear()
    marks.start_range("gone")
    assert marks.end_range("d", ["a", "d"]) == 1
    assert marks.marked == ("d",)
    assert marks.end_range("gone", ["a", "d"]) == 0
    marks.keep_only({"a"})
    assert len(marks) == 0


def test_id_state_and_left_are_shown_at_every_width_and_all_columns_fit():
    for width in (30, 40, 60, 79, 80, 100, 120, 132, 200):
        columns = visible(width)
        keys = [column.key for column in columns]
        assert {"id", "state", "left"} <= set(keys)
        assert len(keys) == len(set(keys))
        spaces = len(columns) - 1
        assert sum(column.width for column in columns) + spaces + GUTTER <= max(width, 35)


def test_columns_drop_by_priority():
    def keys(width):
        return {column.key for column in visible(width)}

    assert "worker" in keys(100)
    assert "worker" not in keys(99)
    assert "try" not in keys(75)
    assert "note" not in keys(59)
    assert keys(200) == {column.key for column in COLUMNS}


def test_r16_a_cancel_nobody_acknowledged_and_a_late_heartbeat_are_shown():
    asked = job(state="cancelled", cancel_requested_at=NOW, slot_taken=True)
    assert display_state(asked) == "cancelling"
    ended = job(state="cancelled", cancel_requested_at=NOW, slot_taken=False)
    assert display_state(ended) == "cancelled", "its thread ended without a word: no slot is taken"
    assert (
        display_state(job(state="cancelled", cancel_requested_at=NOW, cancel_acknowledged_at=NOW))
        == "cancelled"
    )
    assert display_state(job(state="running", heartbeat_age=21.0)) == "ghost"
    assert display_state(job(state="running", heartbeat_age=3.0)) == "running"


def test_the_note_says_the_most_useful_thing():
    assert cell(job(state="failed", error="boom", note="writing"), "note", NOW) == "boom"
    assert cell(job(state="running", stage="plan", stages_done=3, stages_total=7), "note", NOW) == "plan 3/7"
    assert cell(job(reason="recovered"), "note", NOW) == "recovered"
    assert cell(job(), "left", NOW) == "-02:31"
    assert cell(job(deadline=NOW - 12), "left", NOW) == "+00:12"
    assert cell(job(deadline=None), "left", NOW) == "—"


def test_a_job_that_should_have_ended_by_now_is_not_said_to_have_time_to_spare():
    predicted = job(state="running", deadline=NOW + 40, predicted_finish=NOW + 10, slack=30.0)
    assert (forecast(predicted, NOW), cell(predicted, "slack", NOW)) == ("00:30 to spare", "+00:30")
    later = NOW + 25
    assert (forecast(predicted, later), cell(predicted, "slack", later)) == ("longer than predicted", "—")
    assert remark(predicted, later) == "longer than predicted"
    ended = replace(predicted, state="succeeded", finished_at=later)
    assert (forecast(ended, later), cell(ended, "slack", later)) == ("", "—")
