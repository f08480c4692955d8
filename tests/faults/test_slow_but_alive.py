"""Slow is not dead: what lives is not reaped, and what dies takes no other with it (R19, R24)."""

import os
import signal
import sqlite3
import time

from running_backend import RunningBackend, wait_until

BEATS = {"JOBDECK_HEARTBEAT_S": "0.5", "JOBDECK_HEARTBEAT_STALE_S": "2"}


def test_r24_a_worker_whose_event_loop_is_blocked_is_not_reaped(start_backend) -> None:
    """Twice as long as a heartbeat may be old: it has a thread of its own."""
    backend = start_backend(**BEATS)
    backend.wait_for_dask()
    job_id = backend.submit({"name": "blocked", "seconds": 4, "block_loop": True}, {"name": "last"})
    assert backend.wait_for(job_id, timeout_s=30)["outcome"] == "succeeded"
    assert backend.transitions(job_id) == ["submitted", "started", "succeeded"]
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["succeeded"]


def test_r24_a_database_locked_for_five_seconds_costs_no_job_its_worker(start_backend) -> None:
    backend = start_backend(JOBDECK_HEARTBEAT_S="1", JOBDECK_HEARTBEAT_STALE_S="7")
    backend.wait_for_dask()
    job_ids = [
        backend.submit({"name": "a", "seconds": 2, "events": 20}, {"name": "b", "seconds": 5, "events": 50})
        for _ in range(2)
    ]
    for job_id in job_ids:
        backend.wait_for_stage(job_id, "a")
    locker = sqlite3.connect(backend.state_dir / "jobdeck.db", timeout=30, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    until = time.monotonic() + 5
    wait_until(lambda: time.monotonic() >= until, 10, what="five seconds of a lock")
    locker.execute("ROLLBACK")
    locker.close()
    for job_id in job_ids:
        assert backend.wait_for(job_id, timeout_s=30)["outcome"] == "succeeded"
        assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["succeeded"]
        assert sum(frame.data.get("name") == "log" for frame in backend.events(job_id)) == 70, (
            "nothing is dropped"
        )


def test_r19_a_poison_job_takes_no_innocent_with_it(start_backend) -> None:
    """One worker with one thread: whatever waits behind the poison is claimed by no process that dies of it."""
    backend: RunningBackend = start_backend("--max-running-async-jobs", "1")
    backend.wait_for_dask()
    poison = backend.submit({"name": "poison", "seconds": 60}, priority=10, deadline_seconds=300)
    backend.wait_for_stage(poison, "poison")
    innocent = [backend.submit({"name": "good"}, deadline_seconds=600) for _ in range(4)]
    for attempt in range(1, 4):
        wait_until(lambda: len(backend.attempts(poison)) == attempt, 30, what=f"attempt {attempt}")  # noqa: B023
        os.kill(backend.attempts(poison)[-1].pid, signal.SIGKILL)
    wait_until(lambda: backend.record(poison).held_reason, 10, what="the poison is held")
    for job_id in innocent:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        assert [one.end_reason for one in backend.attempts(job_id)] == ["succeeded"]
    resumed = backend.act(poison, "resume", reason="mended")
    assert resumed.status_code == 200, resumed.text
    wait_until(lambda: len(backend.attempts(poison)) == 4, 30, what="it runs again")
    os.kill(backend.attempts(poison)[-1].pid, signal.SIGKILL)
    wait_until(lambda: len(backend.attempts(poison)) == 5, 30, what="a resume gives fresh tries")
    assert backend.act(poison, "expire").status_code == 200
