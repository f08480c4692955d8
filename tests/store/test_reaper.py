"""The reaper's passes, called by hand on a real database; no worker, no Dask (R17, R19)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery, execution
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Claim, StageRun, Status
from jobdeck_backend.recovery.reaper import ROLE, Reaper
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs, leases
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer
from running_backend import wait_until


class Records:
    """A database, and a reaper that never knows more of a worker than its heartbeat."""

    def __init__(self, directory: Path, place: Path | str) -> None:
        settings = Settings(state_dir=directory, lost_attempts_max=2, heartbeat_s=0.5)
        self.database = Database(place, synchronous="NORMAL")
        self.writer = Writer(self.database)
        self.reaper = Reaper(settings, self.database, self.writer, worker_gone=lambda _attempt: None)

    def accept(self, job_id: str) -> None:
        with self.database.write() as tx:
            submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id), now())

    def start_and_hang(self, job_id: str) -> Claim:
        """A worker claims the job; its last heartbeat is a minute old."""
        with self.database.write() as tx:
            delivery.deliver(tx, epoch=1, room=100, pending=(), urgent_room=0, now=now())
            job = jobs.load_job(tx, job_id)
            assert job is not None
            claim = execution.claim(tx, job_id, job.fence, worker="w0-e1", pid=1, epoch=1, now=now() - 60)
            assert claim is not None
            return claim

    def is_away(self) -> None:
        """For longer than a heartbeat may be old, as the reaper finds when it can look again."""
        self.reaper._looked_at -= 60

    def reap(self) -> None:
        asyncio.run(self.reaper.run_once())

    def status(self, job_id: str) -> tuple[Status, str | None]:
        with self.database.read() as tx:
            job = jobs.load_job(tx, job_id)
            assert job is not None
            return job.status, job.held_reason

    def last_reason(self, job_id: str) -> str:
        with self.database.read() as tx:
            return str(jobs.load_transitions(tx, job_id)[-1]["reason"])


@pytest.fixture
def records(tmp_path: Path, place: Path | str) -> Iterator[Records]:
    made = Records(tmp_path, place)
    yield made
    made.writer.stop()
    made.database.close()


def test_r19_a_job_whose_workers_hang_again_and_again_is_held(records: Records) -> None:
    records.accept("one")
    records.start_and_hang("one")
    records.reap()
    assert records.status("one") == (Status.SUBMITTED, None)
    records.start_and_hang("one")
    records.reap()
    assert records.status("one") == (Status.SUBMITTED, "2 attempts ended with their worker")


def test_r24_silence_while_the_database_was_away_is_nobodys_fault(records: Records) -> None:
    records.accept("one")
    records.start_and_hang("one")
    records.is_away()
    records.reap()
    assert records.status("one") == (Status.RUNNING, None)

    def taken() -> bool:
        records.reap()
        return records.status("one") == (Status.SUBMITTED, None)

    wait_until(taken, 5, what="it was not heard of since, either")


def test_r19_a_hung_worker_s_job_is_told_where_it_goes_on(records: Records) -> None:
    records.accept("one")
    claim = records.start_and_hang("one")
    with records.database.write() as tx:
        run = StageRun("one", "extract", 1, claim.attempt, 1, now(), now(), "checkpoint-1", "hash")
        execution.save_stages(tx, [run])
    records.reap()
    assert records.last_reason("one") == "worker lost; resumes after stage extract"


def test_r17_an_owner_that_was_replaced_leaves_the_rest_of_its_plan(records: Records) -> None:
    records.reap()
    for job_id in ("one", "two"):
        records.accept(job_id)
        records.start_and_hang(job_id)
    with records.database.write() as tx:
        leases.acquire(tx, ROLE, "another", now() + 60, 60, is_gone=lambda _owner: True)
    records.reap()
    assert records.reaper.lease is None
    records.reap()
    assert [records.status(job_id) for job_id in ("one", "two")] == [(Status.RUNNING, None)] * 2
