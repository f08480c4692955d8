"""A worker dies or hangs (R19, R23, R24)."""

import os
import signal
import time

from running_backend import RunningBackend, wait_until


def live_pid(backend: RunningBackend, job_id: str) -> int | None:
    live = [attempt.pid for attempt in backend.attempts(job_id) if attempt.ended_at is None]
    return live[0] if live else None


def test_r23_a_killed_worker_costs_its_job_one_attempt_and_others_nothing(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    stages = [{"name": f"s{number}", "seconds": 0.5} for number in range(5)]
    hit, other = backend.submit(*stages), backend.submit(*stages)
    victim = backend.wait_for_stage(hit, "s1")
    backend.wait_for_stage(other, "s1")
    epoch = backend.epoch()
    os.kill(victim, signal.SIGKILL)
    killed = time.time()
    for job_id in (hit, other):
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        backend.assert_no_stage_repeated(job_id, [stage["name"] for stage in stages])
    first, second = backend.attempts(hit)
    assert (first.end_reason, second.end_reason) == ("worker lost", "succeeded")
    assert second.started_at - killed < 4
    assert backend.journal_stages(hit) == [stage["name"] for stage in stages]
    assert len(backend.journal_stages(hit, "stage_started")) == len(stages) + 1
    assert [attempt.end_reason for attempt in backend.attempts(other)] == ["succeeded"]
    assert backend.epoch() == epoch, "the scheduler was not lost"
    wait_until(lambda: list(backend.processes().values()).count("worker") == 2, what="the worker is replaced")


def test_r19_a_job_that_loses_three_workers_is_held_for_a_person(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    poison = backend.submit({"name": "poison", "seconds": 60})
    for attempt in range(1, 4):
        wait_until(lambda: len(backend.attempts(poison)) == attempt, 20, what=f"attempt {attempt}")  # noqa: B023
        pid = wait_until(lambda: live_pid(backend, poison), 5)
        os.kill(pid, signal.SIGKILL)
    job = wait_until(lambda: backend.record(poison).held_reason and backend.record(poison), 10)
    assert job.held_reason == "3 attempts ended with their worker"
    assert backend.job(poison)["status"] == "submitted", "the contracts know no held status"
    assert backend.transitions(poison)[-1] == "held"
    assert backend.wait_for(backend.submit({"name": "next"}), timeout_s=30)["outcome"] == "succeeded"
    assert len(backend.attempts(poison)) == 3
    assert backend.http.post(f"/v1/jobs/async/job/{poison}/cancel").json()["task_cancelled"] is True
    assert backend.events(poison)[-1].data["outcome"] == "cancelled"


def test_r24_i7_a_stopped_worker_is_overtaken_and_changes_nothing_when_it_goes_on(start_backend) -> None:
    backend = start_backend(JOBDECK_HEARTBEAT_S="0.5", JOBDECK_HEARTBEAT_STALE_S="2")
    backend.wait_for_dask()
    names = ["first", "second", "third"]
    job_id = backend.submit({"name": "first"}, {"name": "second", "seconds": 1.5}, {"name": "third"})
    stopped = backend.wait_for_stage(job_id, "second")
    os.kill(stopped, signal.SIGSTOP)
    wait_until(lambda: backend.attempts(job_id)[0].end_reason, 10, what="its heartbeat is stale")
    assert backend.attempts(job_id)[0].end_reason == "worker lost"
    os.kill(stopped, signal.SIGCONT)
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    runs = [run for run in backend.stages(job_id) if run.node in names]
    assert [(run.node, run.attempt) for run in runs] == [("first", 1), ("second", 2), ("third", 2)]
    overtaken = [line for line in backend.journal(job_id) if line["attempt"] == 1]
    assert "third" not in {line["stage"] for line in overtaken}, "it learns it at its next write"
    assert backend.transitions(job_id) == ["submitted", "started", "recovered", "started", "succeeded"]
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["worker lost", "succeeded"]


def test_r23_both_workers_killed_at_once_are_replaced(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_ids = [backend.submit({"name": "a", "seconds": 0.5}, {"name": "b"}) for _ in range(2)]
    victims = {backend.wait_for_stage(job_id, "a") for job_id in job_ids}
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    for job_id in job_ids:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        backend.assert_no_stage_repeated(job_id, ["a", "b"])


def test_a_worker_that_printed_is_still_watched(start_backend) -> None:
    """A failed job's worker logs; what it prints must not break the word of its end."""
    backend = start_backend("--max-running-async-jobs", "1")
    backend.wait_for_dask()
    backend.wait_for(backend.submit({"name": "bad", "fail": True}), "failure")
    job_id = backend.submit({"name": "a", "seconds": 1})
    os.kill(backend.wait_for_stage(job_id, "a"), signal.SIGKILL)
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"


def test_r23_a_worker_that_hangs_is_replaced_once_dask_gave_it_up(start_backend) -> None:
    """Dask waits 15 s for its heartbeats and looks every 15 s; then nothing of it is left."""
    backend = start_backend("--max-running-async-jobs", "1")
    backend.wait_for_dask()
    job_id = backend.submit({"name": "a", "seconds": 0.5}, {"name": "b", "seconds": 0.5})
    hung = backend.wait_for_stage(job_id, "a")
    os.kill(hung, signal.SIGSTOP)
    assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
    assert hung not in backend.processes()
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["worker lost", "succeeded"]
    assert backend.epoch() == 1
