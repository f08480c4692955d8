"""The feed over all jobs, from outside."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from event_frames import Frame, frames_of
from jobdeck_backend.api import recovery_schemas, schemas
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend

FEED = "/v1/ops/events/stream"


@contextmanager
def feed(backend: RunningBackend, **params: Any) -> Iterator[Iterator[Frame]]:
    """An open feed whose first frame is still to come."""
    cursor = params.pop("last_event_id", None)
    headers = {} if cursor is None else {"Last-Event-ID": str(cursor)}
    with httpx.stream("GET", backend.url + FEED, params=params, headers=headers, timeout=20) as response:
        response.raise_for_status()
        yield frames_of(response)


def until_state(frames: Iterator[Frame], job_id: str, state: str) -> tuple[list[Frame], str]:
    """The frames up to the row with that state, and the cursor there."""
    seen = []
    for frame in frames:
        seen.append(frame)
        if frame.event == "jobs" and any(
            row["job_id"] == job_id and row["state"] == state for row in frame.data["jobs"]
        ):
            assert frame.id is not None
            return seen, str(frame.id)
    raise AssertionError(f"the feed ended before {job_id} was {state}")


def test_the_first_frame_is_the_overview_and_another_comes_each_second(backend: RunningBackend) -> None:
    with feed(backend) as frames:
        overviews = []
        while len(overviews) < 3:
            frame = next(frames)
            if frame.event == "overview":
                schemas.Overview.model_validate(frame.data)
                overviews.append(frame)
            assert overviews, "the first frame was no overview"
        assert all(frame.id is None for frame in overviews)


def test_a_job_is_followed_from_its_acceptance_to_its_end(backend: RunningBackend) -> None:
    with feed(backend) as frames:
        next(frames)
        job_id = backend.submit({"name": "one", "seconds": 0.3}, {"name": "two", "seconds": 0.3})
        seen, _cursor = until_state(frames, job_id, "succeeded")
    rows = [row for frame in seen if frame.event == "jobs" for row in frame.data["jobs"]]
    mine = [schemas.JobRow.model_validate(row) for row in rows if row["job_id"] == job_id]
    assert mine[0].state in {"backlog", "queued", "assigned", "running"}
    assert [row.version for row in mine] == sorted(row.version for row in mine)
    assert {frame.event for frame in seen} <= {"overview", "jobs"}


def test_events_are_sent_where_asked_for_but_no_token_chunks(backend: RunningBackend) -> None:
    with feed(backend, events="true") as frames:
        next(frames)
        job_id = backend.submit({"name": "talk", "seconds": 0.2, "tokens": 20, "events": 2})
        seen, _cursor = until_state(frames, job_id, "succeeded")
    told_together = [frame.data for frame in seen if frame.event == "events"]
    events = [event for together in told_together for event in together if event["job_id"] == job_id]
    stored = [frame for frame in backend.events(job_id) if frame.id is not None]
    assert {frame.event for frame in stored} >= {"llm.chunk", "workflow.start"}
    expected = [(frame.id, frame.event, frame.data) for frame in stored if frame.event != "llm.chunk"]
    told = [(event["seq"], event["type"], event["payload"]) for event in events]
    assert told == expected[: len(told)]
    assert len(told) >= len(expected) - 1, "only the last may still be on its way"


def test_what_changed_while_nobody_listened_comes_first(backend: RunningBackend) -> None:
    with feed(backend) as frames:
        next(frames)
        before = backend.submit({"name": "one", "seconds": 0})
        _seen, cursor = until_state(frames, before, "succeeded")
    missed = backend.submit({"name": "one", "seconds": 0})
    backend.wait_for(missed, "success")
    for query in ({"last_event_id": cursor}, {"after": cursor}):
        with feed(backend, **query) as frames:
            seen, _cursor = until_state(frames, missed, "succeeded")
        assert [frame.event for frame in seen[:2]] == ["overview", "jobs"]


def test_a_cursor_that_this_server_never_gave_is_refused(backend: RunningBackend) -> None:
    for cursor in ("999999999", "yesterday", "-1"):
        answer = backend.http.get(FEED, params={"after": cursor})
        assert (answer.status_code, answer.json()["detail"]["code"]) == (422, "invalid_input")


def test_a_cursor_of_another_database_is_refused_however_much_happened_there(
    start_backend: StartBackend, backend: RunningBackend
) -> None:
    other = start_backend()
    with feed(other) as frames:
        next(frames)
        _seen, cursor = until_state(frames, other.submit({"name": "one", "seconds": 0}), "succeeded")
    with feed(other, last_event_id=cursor) as frames:
        assert next(frames).event == "overview"
    for _ in range(3):
        backend.wait_for(backend.submit({"name": "one", "seconds": 0}), "success")
    answer = backend.http.get(FEED, headers={"Last-Event-ID": cursor})
    assert (answer.status_code, answer.json()["detail"]["code"]) == (422, "invalid_input")


def test_acts_are_told_done_and_refused(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "one", "seconds": 0})
    backend.wait_for(job_id, "success")
    with feed(backend) as frames:
        next(frames)
        backend.act(job_id, "expire", reason="by mistake")
        act = next(frame for frame in frames if frame.event == "act")
    schemas.AuditRow.model_validate(act.data)
    assert (act.data["job_id"], act.data["result"]) == (job_id, "refused: not_eligible")


def test_r37_the_loss_of_the_scheduler_and_the_drill_are_told_at_once(backend: RunningBackend) -> None:
    backend.wait_for_dask()
    epoch = backend.overview()["scheduler"]["epoch"]
    job_id = backend.submit({"name": "hit", "seconds": 3}, {"name": "after"})
    backend.wait_for(job_id, "running")
    with feed(backend) as frames:
        next(frames)
        drill = {"fault": "scheduler-loss", "confirm": "scheduler-loss"}
        assert backend.http.post("/v1/ops/drills", json=drill).status_code == 202
        schedulers, drills = [], []
        while not drills or drills[-1]["state"] == "running":
            frame = next(frames)
            if frame.event == "overview":
                schedulers.append((frame.data["scheduler"]["state"], frame.data["scheduler"]["epoch"]))
            elif frame.event == "drill":
                drills.append(frame.data)
    for one in drills:
        recovery_schemas.Drill.model_validate(one)
    assert [len(one["timeline"]) for one in drills] == sorted(len(one["timeline"]) for one in drills)
    assert drills[-1]["state"] == "passed"
    assert any(state in {"lost", "starting"} for state, _epoch in schedulers), schedulers
    assert schedulers[-1] == ("up", epoch + 1) or backend.overview()["scheduler"]["epoch"] == epoch + 1


def test_r30_the_feed_says_farewell_when_the_server_stops(start_backend: StartBackend) -> None:
    backend = start_backend()
    with feed(backend) as frames:
        next(frames)
        assert backend.process.stdin is not None
        backend.process.stdin.close()
        last = list(frames)[-1]
    assert last.event == "job.shutdown"
    wait_until(lambda: backend.process.poll() is not None, what="the backend ends")
