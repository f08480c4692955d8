"""Cancelling a job wherever it is (R15, R16)."""

import time

import pytest
from running_backend import JOBS, RunningBackend, wait_until


def cancel(backend: RunningBackend, job_id: str) -> dict:
    answer = backend.http.post(f"{JOBS}/job/{job_id}/cancel")
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "interrupted"
    return answer.json()


def await_delivery(backend: RunningBackend, job_id: str) -> None:
    wait_until(lambda: backend.record(job_id).delivered_epoch, what="the job is handed to Dask")


@pytest.fixture
def two_long_jobs(backend: RunningBackend):
    """Both slots taken until the test is over."""
    job_ids = [backend.submit({"name": "long", "seconds": 60}) for _ in range(2)]
    for job_id in job_ids:
        backend.wait_for_stage(job_id, "long")
    yield job_ids
    for job_id in job_ids:
        backend.http.post(f"{JOBS}/job/{job_id}/cancel")
    wait_until(lambda: all(a.ended_at for job_id in job_ids for a in backend.attempts(job_id)))


def test_r15_a_queued_job_is_cancelled_at_once_and_never_starts(
    backend: RunningBackend, two_long_jobs: list[str]
) -> None:
    job_id = backend.submit({"name": "never"})
    await_delivery(backend, job_id)
    assert cancel(backend, job_id)["task_cancelled"] is True
    types = [frame.event for frame in backend.events(job_id) if frame.id is not None]
    assert types == ["job.update", "job.cancellation_requested", "job.cancelled"]
    cancel(backend, two_long_jobs[0])
    follower = backend.submit({"name": "next"})
    assert backend.wait_for(follower)["outcome"] == "succeeded"
    assert backend.journal(job_id) == []
    assert backend.attempts(job_id) == []


def test_r15_a_job_that_waits_for_another_is_cancelled_at_once(
    backend: RunningBackend, two_long_jobs: list[str]
) -> None:
    job_id = backend.submit({"name": "never"}, after=[two_long_jobs[0]])
    await_delivery(backend, job_id)
    assert cancel(backend, job_id)["task_cancelled"] is True
    assert backend.job(job_id)["outcome"] == "cancelled"


@pytest.mark.parametrize("sync", [False, True])
def test_r15_a_running_job_stops_within_a_second_and_acknowledges(
    backend: RunningBackend, sync: bool
) -> None:
    job_id = backend.submit({"name": "long", "seconds": 60, "sync": sync}, {"name": "never"})
    backend.wait_for_stage(job_id, "long")
    with backend.stream(job_id) as frames:
        assert cancel(backend, job_id)["task_cancelled"] is False
        told = list(frames)
    assert [frame.event for frame in told[-3:]] == [
        "job.cancellation_requested",
        "job.cancelled",
        "job.status",
    ]
    assert told[-1].data["status"] == "interrupted"
    assert "cancelled by user" in told[-1].data["error"]
    job = backend.record(job_id)
    assert job.cancel_acknowledged_at is not None
    assert job.cancel_requested_at is not None
    # A second to notice it; the rest is for a busy machine to write it.
    assert job.cancel_acknowledged_at - job.cancel_requested_at < 1.5
    (attempt,) = backend.attempts(job_id)
    assert attempt.end_reason == "cancelled"
    assert backend.journal_stages(job_id) == []


def test_r15_a_job_saying_tokens_stops_at_its_next_write(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "talk", "seconds": 60, "tokens": 3000})
    wait_until(lambda: backend.record(job_id).event_seq > 20)
    cancel(backend, job_id)
    wait_until(lambda: backend.record(job_id).cancel_acknowledged_at, 3.0)
    last = backend.record(job_id).event_seq
    assert backend.events(job_id, after=last)[-1].data["status"] == "interrupted"
    assert backend.record(job_id).event_seq == last


def test_r15_r16_a_job_that_ignores_its_cancel_loses_the_right_to_write(backend: RunningBackend) -> None:
    """The stream ends after the grace; the slot stays taken, on record, until the thread ends."""
    job_id = backend.submit({"name": "deaf", "seconds": 5.5, "ignore_cancel": True}, {"name": "never"})
    backend.wait_for_stage(job_id, "deaf")
    with backend.stream(job_id) as frames:
        cancel(backend, job_id)
        asked = time.monotonic()
        told = list(frames)
    assert 2.5 < time.monotonic() - asked < 5.0
    assert told[-1].data["status"] == "interrupted"
    assert "job.cancelled" not in {frame.event for frame in told}
    job = backend.record(job_id)
    assert job.revoked_at is not None
    assert job.cancel_acknowledged_at is None
    (attempt,) = backend.attempts(job_id)
    assert attempt.ended_at is None
    assert job.fence > attempt.fence
    wait_until(lambda: backend.attempts(job_id)[0].ended_at, 10.0, what="the deaf thread's end is noted")
    after = backend.record(job_id)
    assert (after.event_seq, after.cancel_acknowledged_at) == (job.event_seq, None)
    assert backend.journal_stages(job_id, "stage_started") == ["deaf"]


def test_r15_a_finished_job_is_never_touched_by_a_late_cancel(backend: RunningBackend) -> None:
    job_id = backend.submit(output="kept")
    backend.wait_for(job_id, "success")
    before = backend.record(job_id)
    answer = backend.http.post(f"{JOBS}/job/{job_id}/cancel")
    assert answer.status_code == 400
    assert answer.json() == {"detail": f"Job not running: {job_id} (status: success)"}
    assert backend.record(job_id) == before
    assert backend.http.get(f"{JOBS}/job/{job_id}/report").json()["report"] == "kept"


def test_cancelling_an_unknown_job_is_404(backend: RunningBackend) -> None:
    answer = backend.http.post(f"{JOBS}/job/no-such-job/cancel")
    assert (answer.status_code, answer.json()) == (404, {"detail": "Job not found: no-such-job"})


def test_a_second_cancel_changes_nothing(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "seconds": 60})
    backend.wait_for_stage(job_id, "long")
    cancel(backend, job_id)
    assert backend.http.post(f"{JOBS}/job/{job_id}/cancel").status_code == 400
    backend.events(job_id)
    assert backend.transitions(job_id) == ["submitted", "started", "cancelled"]
