"""The recovery owner, pass by pass, on a real database (R17, R18, R24)."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution, operators, recovery
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import NotEligible
from jobdeck_backend.instance import this_process
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Attempt, Claim, Job, Status
from jobdeck_backend.recovery.plan import Act
from jobdeck_backend.recovery.reaper import ROLE, Applied, Reaper
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import events, jobs, leases
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

T = TypeVar("T")
LONG_AGO_S = 100.0


class Stand:
    """A database with a writer, and reapers on it whose passes are called by hand."""

    def __init__(self, directory: Path, place: Path | str) -> None:
        self.directory = directory
        self.database = Database(place, synchronous="NORMAL")
        self.writer = Writer(self.database)
        self.gone: str | None = None

    def reaper(self, **settings: Any) -> Reaper:
        return Reaper(
            Settings(state_dir=self.directory, **settings),
            self.database,
            self.writer,
            worker_gone=lambda _attempt: self.gone,
        )

    def write(self, command: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        async def ask() -> T:
            return await self.writer.submit(command, *args, **kwargs)

        return asyncio.run(ask())

    def start_job(self, job_id: str, *, at: float, deadline: float | None = None) -> Claim:
        """A job whose worker claimed it at a moment and wrote nothing since."""
        new = NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id, deadline=deadline)
        self.write(submit, new, at)
        claim = self.write(execution.claim, job_id, 0, worker="w0", pid=1, epoch=1, now=at)
        assert claim is not None
        return claim

    def job(self, job_id: str) -> Job:
        with self.database.read() as tx:
            job = jobs.load_job(tx, job_id)
        assert job is not None
        return job

    def attempts(self, job_id: str) -> list[Attempt]:
        with self.database.read() as tx:
            return jobs.load_attempts(tx, job_id)


@pytest.fixture
def stand(tmp_path: Path, place: Path | str) -> Iterator[Stand]:
    """A stand that is taken down."""
    made = Stand(tmp_path, place)
    yield made
    made.writer.stop()
    made.database.close()


def one_pass(reaper: Reaper) -> None:
    asyncio.run(reaper.run_once())


def apply(reaper: Reaper, *job_ids: str) -> list[Applied]:
    return asyncio.run(reaper.apply(job_ids or None))


def test_r24_a_dead_worker_is_reaped_though_it_never_wrote_an_event(stand: Stand) -> None:
    stand.start_job("dead", at=now() - LONG_AGO_S)
    stand.start_job("alive", at=now())
    one_pass(stand.reaper())
    assert (stand.job("dead").status, stand.job("dead").fence) == (Status.SUBMITTED, 2)
    assert stand.attempts("dead")[0].end_reason == "worker lost"
    assert stand.job("alive").status is Status.RUNNING


def test_r24_a_worker_that_renewed_its_heartbeat_since_it_was_read_is_not_reaped(stand: Stand) -> None:
    claim = stand.start_job("slow", at=now() - LONG_AGO_S)
    reaper = stand.reaper()
    planned = reaper.read().actions
    assert [one.act for one in planned] == [Act.START]
    stand.write(execution.renew, claim, now())
    seen = ("slow", planned[0].status, planned[0].fence)
    lost = {"attempt": 1, "attempt_end": "worker lost", "heartbeat_at": planned[0].heartbeat_at}
    for verb in (Verb.RECOVER, Verb.HOLD, Verb.TIME_OUT):
        assert stand.write(recovery.reclaim, *seen, verb, **lost, reason="worker lost", now=now()) is None
    assert (stand.job("slow").status, stand.job("slow").fence) == (Status.RUNNING, 1)
    assert stand.attempts("slow")[0].ended_at is None


def test_r18_i15_manual_recovery_waits_for_an_operator_and_applies_once(stand: Stand) -> None:
    for job_id in ("one", "two"):
        stand.start_job(job_id, at=now() - LONG_AGO_S)
    stand.start_job("overdue", at=now() - LONG_AGO_S, deadline=now() - 50)
    reaper = stand.reaper(recovery="manual")
    one_pass(reaper)
    assert stand.job("one").status is Status.RUNNING
    assert stand.job("overdue").status is Status.INTERRUPTED, "a deadline waits for nobody"
    planned = {one.job_id: one.act for one in reaper.read().actions}
    assert planned == {"one": Act.START, "two": Act.START}
    done = apply(reaper, "one")
    assert [(one.action.job_id, one.skipped) for one in done] == [("one", None)]
    assert (stand.job("one").status, stand.job("two").status) == (Status.SUBMITTED, Status.RUNNING)
    assert [one.action.job_id for one in apply(reaper)] == ["two"]
    before = stand.job("one"), stand.job("two")
    assert apply(reaper) == []
    assert (stand.job("one"), stand.job("two")) == before


def test_r24_a_lost_job_that_nobody_recovers_in_time_is_a_ghost(stand: Stand) -> None:
    claim = stand.start_job("ghost", at=now() - LONG_AGO_S)
    reaper = stand.reaper(recovery="manual", ghost_timeout_s=0.2)
    one_pass(reaper)
    assert stand.job("ghost").status is Status.RUNNING, "the operator has his time first"
    until = now() + 0.2
    while now() < until:
        one_pass(reaper)
    one_pass(reaper)
    job = stand.job("ghost")
    assert (job.status, job.error_type, job.fence) == (Status.FAILURE, "GhostJobTimeout", 2)
    assert job.error == "Job timed out (no heartbeat received from worker)"
    with stand.database.read() as tx:
        last = events.read_after(tx, "ghost", 0, 100)[-1]
    assert last.type == "job.error"
    assert orjson.loads(last.payload)["data"] == {"error": job.error, "error_type": "GhostJobTimeout"}
    assert stand.write(execution.succeed, claim, {"report": "late"}, (), now()) is False
    assert stand.job("ghost") == job


def test_r24_at_start_recovery_comes_before_any_timeout(stand: Stand) -> None:
    """After an hour's outage every heartbeat is older than the timeout; nothing fails of that."""
    stand.start_job("one", at=now() - 3_600)
    one_pass(stand.reaper())
    assert stand.job("one").status is Status.SUBMITTED


def test_r19_a_held_job_that_is_resumed_has_fresh_tries(stand: Stand) -> None:
    reaper = stand.reaper(lost_attempts_max=2)
    stand.gone = "worker lost"
    claimed = stand.start_job("poison", at=now())

    def lose(fence: int) -> None:
        found = stand.write(execution.claim, "poison", fence, worker="w1", pid=2, epoch=1, now=now())
        assert found is not None
        one_pass(reaper)

    one_pass(reaper)
    assert stand.job("poison").held_reason is None
    lose(stand.job("poison").fence)
    assert stand.job("poison").held_reason == "2 attempts ended with their worker"
    assert [(one.act, one.reason) for one in reaper.read().actions] == [
        (Act.LEAVE, "held for a person: 2 attempts ended with their worker")
    ]
    by = operators.By("operator", now())
    assert stand.write(operators.act, "resume", claimed.job_id, operators.resume, by) == "resumed"
    lose(stand.job("poison").fence)
    assert stand.job("poison").held_reason is None, "the first loss since the resume"
    lose(stand.job("poison").fence)
    assert stand.job("poison").held_reason == "2 attempts ended with their worker"


def test_r17_the_lease_tells_from_whom_it_was_taken_and_only_its_owner_applies(stand: Stand) -> None:
    stand.start_job("one", at=now() - LONG_AGO_S)
    lease = stand.write(leases.acquire, ROLE, "elsewhere:1", now(), 10.0, is_gone=lambda _owner: False)
    assert lease is not None
    assert lease.taken_from is None
    reaper = stand.reaper(recovery="manual")
    with pytest.raises(NotEligible, match="recovery belongs to elsewhere:1"):
        apply(reaper)
    stand.write(leases.release, lease, now())
    assert len(apply(reaper)) == 1
    taken = reaper.read().lease
    assert taken is not None
    assert (taken.owner, taken.epoch, taken.taken_from) == (this_process(), 2, "elsewhere:1")
