"""The scheduler dies or hangs; the jobs do not notice more than they must (R17–R23)."""

import os
import signal
import time

from running_backend import JOBS, wait_until

STAGES = [{"name": f"s{number}", "seconds": 0.4} for number in range(5)]
NAMES = [stage["name"] for stage in STAGES]


def test_r23_r20_a_killed_scheduler_costs_each_job_at_most_its_open_stage(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    running = [backend.submit(*STAGES) for _ in range(2)]
    queued = [backend.submit(*STAGES[:1]) for _ in range(6)]
    dependent = backend.submit({"name": "last"}, after=[*running, *queued])
    for job_id in running:
        backend.wait_for_stage(job_id, "s2")
    epoch, workers = backend.epoch(), {a.pid for job_id in running for a in backend.attempts(job_id)}
    os.kill(backend.pid_of("scheduler"), signal.SIGKILL)
    killed = time.monotonic()
    wait_until(lambda: all(len(backend.attempts(job_id)) == 2 for job_id in running), 10)
    assert time.monotonic() - killed < 8
    assert not workers & set(backend.processes()), "the lost scheduler's workers are ended"
    for job_id in [*running, *queued, dependent]:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    assert backend.epoch() > epoch
    for job_id in running:
        backend.assert_no_stage_repeated(job_id, NAMES)
        assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["scheduler lost", "succeeded"]
        assert backend.transitions(job_id) == ["submitted", "started", "recovered", "started", "succeeded"]
        notices = [frame.data for frame in backend.events(job_id) if frame.event == "job.update"]
        assert any("resumes after stage" in notice["data"]["output"] for notice in notices)
    for job_id in queued:
        backend.assert_no_stage_repeated(job_id, ["s0"])


def test_r4_r8_submit_answers_while_the_scheduler_is_down(start_backend) -> None:
    """The job runs once it is back; one that is overdue by then never starts."""
    backend = start_backend()
    backend.wait_for_dask()
    # A stopped scheduler is declared lost after 5 s: so long nothing can be handed over.
    os.kill(backend.pid_of("scheduler"), signal.SIGSTOP)
    asked = time.monotonic()
    job_id = backend.submit({"name": "later"})
    overdue = backend.submit({"name": "never"}, deadline_seconds=0.5)
    assert time.monotonic() - asked < 1
    assert backend.wait_for(overdue, timeout_s=4)["error"] == "expired: deadline passed while queued"
    assert backend.wait_for(job_id, timeout_s=30)["outcome"] == "succeeded"
    assert backend.journal(overdue) == []


def test_r23_a_scheduler_that_is_busy_for_four_seconds_is_suspected_and_not_shot(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit({"name": "long", "seconds": 4.5}, {"name": "last"})
    backend.wait_for_stage(job_id, "long")
    epoch, scheduler = backend.epoch(), backend.pid_of("scheduler")
    os.kill(scheduler, signal.SIGSTOP)
    busy_until = time.monotonic() + 4
    wait_until(lambda: not backend.http.get("/health").json()["dask_available"], 3, what="suspect")
    wait_until(lambda: time.monotonic() >= busy_until, 5, what="four seconds of being busy")
    os.kill(scheduler, signal.SIGCONT)
    backend.wait_for_dask()
    assert backend.wait_for(job_id)["attempt"] == 1
    assert (backend.epoch(), backend.pid_of("scheduler")) == (epoch, scheduler)


def test_r15_a_job_cancelled_while_the_scheduler_is_lost_stays_cancelled(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit({"name": "long", "seconds": 60})
    backend.wait_for_stage(job_id, "long")
    epoch = backend.epoch()
    os.kill(backend.pid_of("scheduler"), signal.SIGKILL)
    backend.http.post(f"{JOBS}/job/{job_id}/cancel").raise_for_status()
    backend.wait_for_epoch(epoch + 1)
    assert backend.events(job_id)[-1].data["outcome"] == "cancelled"
    assert backend.wait_for(backend.submit({"name": "next"}))["outcome"] == "succeeded"
    assert backend.journal_stages(job_id, "stage_started") == ["long"]


def test_r23_a_killed_fork_server_brings_a_whole_new_cluster(start_backend) -> None:
    """Its scheduler and workers die with it: the epoch's loss, not the workers'."""
    backend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit(*STAGES)
    backend.wait_for_stage(job_id, "s1")
    before = backend.processes()
    os.kill(backend.pid_of("fork server"), signal.SIGKILL)
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    backend.assert_no_stage_repeated(job_id, NAMES)
    assert backend.journal_stages(job_id) == NAMES
    assert len(backend.journal_stages(job_id, "stage_started")) == len(NAMES) + 1
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["scheduler lost", "succeeded"]
    assert set(before) & set(backend.processes()) == {backend.pid}


def test_r23_three_losses_in_a_row_leave_every_job_done_once(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_ids = [backend.submit(*STAGES) for _ in range(6)]
    for _ in range(3):
        epoch = backend.epoch()
        wait_until(lambda: any(backend.record(job_id).status == "running" for job_id in job_ids), 10)
        os.kill(backend.pid_of("scheduler"), signal.SIGKILL)
        backend.wait_for_epoch(epoch + 1)
    for job_id in job_ids:
        assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
        backend.assert_no_stage_repeated(job_id, NAMES)
    assert len(backend.worker_directories()) == 2, "killed workers' directories are cleared at each epoch"


def test_r23_a_fork_server_that_hangs_is_replaced_when_it_is_needed(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    epoch, fork_server = backend.epoch(), backend.pid_of("fork server")
    scheduler = backend.pid_of("scheduler")
    os.kill(fork_server, signal.SIGSTOP)
    os.kill(scheduler, signal.SIGKILL)
    job_id = backend.submit({"name": "only"})
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    assert backend.epoch() > epoch
    assert fork_server not in backend.processes()
