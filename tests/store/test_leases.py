"""Who may do something alone (R17, I8)."""

import pytest
from jobdeck_backend.commands import recovery
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import LeaseLost
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.store import jobs, leases
from sqlalchemy import Connection

TTL_S = 10.0


def acquire(tx: Connection, owner: str, now: float, gone: str | None = None) -> leases.Lease | None:
    return leases.acquire(tx, "recovery", owner, now, TTL_S, is_gone=lambda former: former == gone)


def test_a_lease_is_held_by_one_until_its_time_is_over(tx: Connection) -> None:
    first = acquire(tx, "a", 100)
    assert first is not None
    assert (first.epoch, first.expires_at) == (1, 110)
    assert acquire(tx, "b", 109.9) is None
    second = acquire(tx, "b", 110)
    assert second is not None
    assert (second.owner, second.epoch, second.acquired_at) == ("b", 2, 110)


def test_renewing_keeps_the_epoch(tx: Connection) -> None:
    acquire(tx, "a", 100)
    renewed = acquire(tx, "a", 105)
    assert renewed is not None
    assert (renewed.epoch, renewed.acquired_at, renewed.expires_at) == (1, 100, 115)


def test_nobody_waits_for_an_owner_that_certainly_ended(tx: Connection) -> None:
    acquire(tx, "a", 100)
    taken = acquire(tx, "b", 101, gone="a")
    assert taken is not None
    assert taken.epoch == 2


def test_a_released_lease_is_free_at_once_and_only_its_holder_releases_it(tx: Connection) -> None:
    first = acquire(tx, "a", 100)
    assert first is not None
    leases.release(tx, first, 101)
    second = acquire(tx, "b", 101)
    assert second is not None
    leases.release(tx, first, 102)
    assert acquire(tx, "c", 102) is None


def expiring(status: Status, fence: int, now: float) -> recovery.Step:
    return lambda tx: recovery.expire(tx, "one", status, fence, reason="deadline", now=now)


def test_r17_a_stopped_and_continued_owner_changes_nothing(tx: Connection) -> None:
    submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id="one", deadline=105), 100)
    before = jobs.load_job(tx, "one")
    former = acquire(tx, "a", 100)
    assert former is not None
    acquire(tx, "b", 111)
    with pytest.raises(LeaseLost, match="held by b"):
        recovery.carry_out(tx, former, [expiring(Status.SUBMITTED, 0, 111)], 111)
    assert jobs.load_job(tx, "one") == before


def test_r17_an_owner_whose_time_is_over_changes_nothing_though_nobody_took_over(tx: Connection) -> None:
    former = acquire(tx, "a", 100)
    assert former is not None
    leases.check(tx, former, 109)
    with pytest.raises(LeaseLost):
        leases.check(tx, former, 110)


def test_r18_an_action_on_a_job_that_moved_on_is_skipped(tx: Connection) -> None:
    submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id="one", deadline=105), 100)
    lease = acquire(tx, "a", 106)
    assert lease is not None
    assert recovery.carry_out(tx, lease, [expiring(Status.RUNNING, 1, 106)], 106) == [False]
    assert recovery.carry_out(tx, lease, [expiring(Status.SUBMITTED, 0, 106)], 106) == [True]
    after = jobs.load_job(tx, "one")
    assert recovery.carry_out(tx, lease, [expiring(Status.SUBMITTED, 0, 106)], 106) == [False]
    assert jobs.load_job(tx, "one") == after


def test_i8_each_fresh_start_of_a_role_has_a_new_epoch(tx: Connection) -> None:
    assert [leases.next_epoch(tx, "scheduler", "a", 100 + number) for number in range(3)] == [1, 2, 3]
