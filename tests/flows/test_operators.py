"""What an operator does to a job: resume, expire, grant, pause (R7, R13, R15, R36)."""

import os
import signal
from datetime import UTC, datetime, timedelta

import pytest
from running_backend import JOBS, RunningBackend, wait_until

FAILING = [{"name": "one"}, {"name": "two"}, {"name": "bad", "fail": True}]


def done(backend: RunningBackend, job_id: str, act: str, **body) -> dict:
    answer = backend.act(job_id, act, **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(backend: RunningBackend, job_id: str, act: str, code: str, **body) -> dict:
    before = backend.transitions(job_id), backend.record(job_id).version
    answer = backend.act(job_id, act, **body)
    assert answer.status_code == 409, answer.text
    detail = answer.json()["detail"]
    assert detail["code"] == code, detail
    assert detail["current"]["job_id"] == job_id
    assert (backend.transitions(job_id), backend.record(job_id).version) == before
    return detail


@pytest.fixture
def paused_queue(backend: RunningBackend):
    """A queue that hands nothing over."""
    backend.http.post("/v1/ops/queues/slow/pause", json={}).raise_for_status()
    yield "slow"
    backend.http.post("/v1/ops/queues/slow/resume", json={}).raise_for_status()


def test_r13_r20_a_resumed_job_goes_on_after_its_completed_stages(backend: RunningBackend) -> None:
    job_id = backend.submit(*FAILING)
    backend.wait_for(job_id, "failure")
    row = done(backend, job_id, "resume", reason="try again")
    assert row["outcome"] is None
    wait_until(lambda: len(backend.attempts(job_id)) == 2)
    backend.wait_for(job_id, "failure")
    assert backend.journal_stages(job_id, "stage_started") == ["one", "two", "bad", "bad"]
    names = ["submitted", "started", "failed", "resumed", "started", "failed"]
    assert backend.transitions(job_id) == names
    ids = [frame.id for frame in backend.events(job_id) if frame.id is not None]
    assert ids == list(range(1, len(ids) + 1)), "one log, through the resume"


def test_r13_a_cancelled_job_is_resumed_where_it_was(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "first"}, {"name": "second", "seconds": 1.0})
    backend.wait_for_stage(job_id, "second")
    done(backend, job_id, "cancel")
    backend.events(job_id)
    done(backend, job_id, "resume")
    assert backend.wait_for(job_id, "success")["outcome"] == "succeeded"
    assert backend.journal_stages(job_id) == ["first", "second"]
    assert backend.job(job_id)["error"] is None


def test_r15_a_resume_waits_for_the_end_of_the_old_attempt(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "deaf", "seconds": 2.5, "ignore_cancel": True})
    backend.wait_for_stage(job_id, "deaf")
    done(backend, job_id, "cancel")
    done(backend, job_id, "resume")
    assert backend.wait_for(job_id, "success")["outcome"] == "succeeded"
    first, second = backend.attempts(job_id)
    assert first.ended_at is not None
    assert second.started_at >= first.ended_at
    assert first.end_reason == "stopped"
    assert [run.attempt for run in backend.stages(job_id) if run.node == "deaf"] == [2]


def test_a_resumed_job_whose_old_worker_dies_runs_all_the_same(start_backend) -> None:
    backend = start_backend("--max-running-async-jobs", "1")
    backend.wait_for_dask()
    job_id = backend.submit({"name": "deaf", "seconds": 2, "ignore_cancel": True})
    pid = backend.wait_for_stage(job_id, "deaf")
    done(backend, job_id, "cancel")
    done(backend, job_id, "resume")
    os.kill(pid, signal.SIGKILL)
    assert backend.wait_for(job_id, timeout_s=30)["outcome"] == "succeeded"
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["worker lost", "succeeded"]


def test_r13_a_succeeded_job_is_never_run_again(backend: RunningBackend) -> None:
    job_id = backend.submit()
    backend.wait_for(job_id, "success")
    for act in ("resume", "cancel", "expire"):
        refused(backend, job_id, act, "not_eligible")
    refused(backend, job_id, "grant", "not_eligible", extend_seconds=60)


def test_r21_a_job_is_not_resumed_on_a_thread_in_use(backend: RunningBackend) -> None:
    first = backend.submit({"name": "bad", "fail": True}, thread_id="session-2")
    backend.wait_for(first, "failure")
    second = backend.submit({"name": "long", "seconds": 60}, thread_id="session-2")
    detail = refused(backend, first, "resume", "not_eligible")
    assert "session-2" in detail["message"]
    done(backend, second, "cancel")
    backend.events(second)


def test_r10_an_operator_expires_a_job_wherever_it_is(backend: RunningBackend, paused_queue: str) -> None:
    waiting = backend.submit({"name": "never"}, queue=paused_queue)
    running = backend.submit({"name": "long", "seconds": 60})
    backend.wait_for_stage(running, "long")
    for job_id in (waiting, running):
        done(backend, job_id, "expire", reason="no longer needed")
        job = backend.job(job_id)
        assert (job["status"], job["outcome"]) == ("interrupted", "expired")
        assert job["error"] == "expired: by operator: no longer needed"
        assert backend.events(job_id)[-1].data["outcome"] == "expired"
    wait_until(lambda: backend.attempts(running)[0].ended_at, 3, what="the worker notices")
    assert backend.journal(waiting) == []


def test_r7_a_grant_moves_the_deadline_of_a_running_job(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "seconds": 2.5}, deadline_seconds=1.5)
    backend.wait_for_stage(job_id, "long")
    done(backend, job_id, "grant", extend_seconds=60, reason="customer agreed")
    job = backend.wait_for(job_id)
    assert (job["outcome"], job["attempt"]) == ("succeeded", 1)
    (granted,) = [frame.data for frame in backend.events(job_id) if frame.data.get("name") == "granted"]
    assert granted["data"]["new"] - granted["data"]["old"] == pytest.approx(60)


def test_r7_r13_an_expired_job_needs_a_grant_before_its_resume(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "one"}, {"name": "two", "seconds": 1.2}, deadline_seconds=0.8)
    assert backend.wait_for(job_id)["outcome"] == "expired"
    refused(backend, job_id, "resume", "deadline_passed")
    refused(backend, job_id, "grant", "not_eligible", deadline="2001-01-01T00:00:00Z")
    later = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    done(backend, job_id, "grant", deadline=later)
    done(backend, job_id, "resume")
    assert backend.wait_for(job_id, "success")["outcome"] == "succeeded"
    assert backend.journal_stages(job_id) == ["one", "two"]


def test_r36_an_act_on_a_row_that_changed_is_refused_and_on_record(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "seconds": 60})
    backend.wait_for_stage(job_id, "long")
    detail = refused(backend, job_id, "cancel", "changed", version=1, reason="by mistake")
    done(backend, job_id, "cancel", version=detail["current"]["version"], reason="on purpose")
    backend.events(job_id)
    acts = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    mine = [(one["act"], one["reason"], one["result"]) for one in acts if one["job_id"] == job_id]
    assert sorted(mine) == [
        ("cancel", "by mistake", "refused: changed"),
        ("cancel", "on purpose", "cancel requested"),
    ]


def test_a_paused_queue_accepts_and_hands_nothing_over(backend: RunningBackend, paused_queue: str) -> None:
    held_back = backend.submit({"name": "later"}, queue=paused_queue)
    other = backend.submit({"name": "now"})
    assert backend.wait_for(other)["outcome"] == "succeeded"
    assert backend.record(held_back).delivered_epoch is None
    why = backend.http.get(f"/v1/ops/jobs/{held_back}/why").json()
    assert why["code"] == "paused"
    assert paused_queue in backend.overview()["paused"]
    backend.http.post(f"/v1/ops/queues/{paused_queue}/resume", json={}).raise_for_status()
    assert backend.wait_for(held_back)["outcome"] == "succeeded"


def test_r15_a_backlog_job_is_cancelled_at_once(backend: RunningBackend, paused_queue: str) -> None:
    job_id = backend.submit({"name": "never"}, queue=paused_queue)
    answer = backend.http.post(f"{JOBS}/job/{job_id}/cancel").json()
    assert answer == {"job_id": job_id, "status": "interrupted", "task_cancelled": True}
    assert backend.job(job_id)["outcome"] == "cancelled"


def test_acts_on_an_unknown_job_are_404(backend: RunningBackend) -> None:
    for act in ("cancel", "expire", "resume", "grant"):
        answer = backend.act("nobody", act, extend_seconds=5)
        assert answer.status_code == 404
        assert answer.json()["detail"]["code"] == "not_found"
