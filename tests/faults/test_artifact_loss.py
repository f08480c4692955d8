"""Workers die and hang around their files: each is there whole, once, or not at all (R31, I17)."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from running_backend import RunningBackend, wait_until


@contextmanager
def locked(backend: RunningBackend) -> Iterator[None]:
    """Nobody else can commit meanwhile."""
    locker = sqlite3.connect(backend.state_dir / "jobdeck.db", timeout=30, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        locker.execute("ROLLBACK")
        locker.close()


def assert_whole(backend: RunningBackend, job_id: str, *names: str) -> None:
    found = backend.artifacts(job_id)
    assert [one["filename"] for one in found] == list(names)
    for one in found:
        assert backend.artifact_files.fault(one["sha256"], one["size_bytes"]) is None
    told = [frame.data for frame in backend.events(job_id) if frame.event == "artifact.update"]
    assert [one["name"] for one in told] == list(names), "each is told once"
    wait_until(
        lambda: not list((backend.state_dir / "sandboxes").glob(f"{job_id}-2")), what="its directory goes"
    )


def test_r31_a_worker_killed_between_the_files_name_and_its_row_leaves_nothing_half(start_backend) -> None:
    backend: RunningBackend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit({"name": "a", "seconds": 1, "artifact_bytes": 5_000}, {"name": "b"})
    worker = backend.wait_for_stage(job_id, "a")
    wait_until(lambda: backend.record(job_id).stage == "a", what="what the stage said is written")
    with locked(backend):
        wait_until(lambda: list(backend.artifact_files.digests()), what="the bytes have their name")
        os.kill(worker, signal.SIGKILL)
    assert backend.artifacts(job_id) == [], "its row was never committed"
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    assert_whole(backend, job_id, "a.txt")
    assert [one.attempt for one in backend.stages(job_id)] == [2, 2]
    assert len(list(backend.artifact_files.digests())) == 1, "the same bytes again"


def test_r31_a_worker_killed_at_its_last_stages_end_loses_no_file(start_backend) -> None:
    """Wherever the kill lands between the last checkpoint and the job's success."""
    backend: RunningBackend = start_backend()
    backend.wait_for_dask()
    for _ in range(3):
        job_id = backend.submit({"name": "a", "seconds": 0.2, "artifact_bytes": 5_000})
        worker = backend.wait_for_stage(job_id, "a")
        wait_until(lambda: backend.journal_stages(job_id), what="its output is saved")  # noqa: B023
        os.kill(worker, signal.SIGKILL)
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        assert_whole(backend, job_id, "a.txt")
        assert backend.journal_stages(job_id) == ["a"], "its stage is not run again"


def test_r31_a_stopped_worker_that_goes_on_adds_no_file(start_backend) -> None:
    backend: RunningBackend = start_backend(JOBDECK_HEARTBEAT_S="0.5", JOBDECK_HEARTBEAT_STALE_S="2")
    backend.wait_for_dask()
    job_id = backend.submit({"name": "a", "seconds": 1, "artifact_bytes": 5_000}, {"name": "b"})
    stopped = backend.wait_for_stage(job_id, "a")
    os.kill(stopped, signal.SIGSTOP)
    wait_until(lambda: backend.attempts(job_id)[0].end_reason, 10, what="its heartbeat is stale")
    os.kill(stopped, signal.SIGCONT)
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    wait_until(lambda: not list((backend.state_dir / "sandboxes").glob("*")), what="its directory goes too")
    assert_whole(backend, job_id, "a.txt")
    with sqlite3.connect(backend.state_dir / "jobdeck.db") as database:
        rows = database.execute("SELECT attempt, fence FROM artifacts").fetchall()
    database.close()
    assert rows == [(2, backend.attempts(job_id)[1].fence)]
