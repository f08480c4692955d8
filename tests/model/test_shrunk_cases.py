"""What the machine found, each as a plain case."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_backend.commands import delivery, execution, operators, recovery
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.store import jobs
from jobdeck_backend.store.engine import Database
from sqlalchemy import Connection

BY = operators.By("operator", 110.0, "too late")
WORKER = {"worker": "w0-e1", "pid": 1, "epoch": 1}


@pytest.fixture
def tx(tmp_path: Path, empty_database: Path) -> Iterator[Connection]:
    """A transaction on a database of its own."""
    path = tmp_path / "jobdeck.db"
    path.write_bytes(empty_database.read_bytes())
    database = Database(path, synchronous="NORMAL")
    with database.write() as connection:
        yield connection
    database.close()


def accept(tx: Connection, job_id: str, **fields) -> None:
    submit(tx, NewJob("probe", "{}", "probe", job_id, **fields), 100.0)


def deliver(tx: Connection, *pending: str) -> list[str]:
    chosen, _position = delivery.deliver(tx, epoch=1, room=8, pending=pending, urgent_room=0, now=101.0)
    return [one.job_id for one in chosen]


def test_a_resumed_dependent_makes_what_it_waits_for_as_urgent_again(tx: Connection) -> None:
    accept(tx, "first", deadline=200)
    accept(tx, "second", deadline=150, after=("first",))
    operators.act(tx, "cancel", "second", operators.cancel, BY)
    operators.act(tx, "grant", "first", operators.grant_until(lambda _admission, _now: 400.0), BY)
    assert jobs.load_job(tx, "first").dispatch_deadline == 400.0, "nothing unfinished waits for it"
    operators.act(tx, "resume", "second", operators.resume, BY)
    assert jobs.load_job(tx, "first").dispatch_deadline == 150.0


def test_a_job_claimed_after_its_key_was_taken_back_lets_its_dependents_be_handed_over(
    tx: Connection,
) -> None:
    """Its old task was only late: it runs, and Dask has it."""
    accept(tx, "first")
    assert deliver(tx) == ["first"]
    delivery.take_back(tx, ["first"])
    assert execution.claim(tx, "first", 0, **WORKER, now=102.0) is not None
    assert jobs.load_job(tx, "first").delivered_epoch == 1
    accept(tx, "second", after=("first",))
    assert deliver(tx, "first") == ["second"]


def test_r18_a_cancel_acknowledged_after_the_plan_is_not_revoked_by_it(tx: Connection) -> None:
    accept(tx, "one")
    deliver(tx)
    claim = execution.claim(tx, "one", 0, **WORKER, now=102.0)
    operators.act(tx, "cancel", "one", operators.cancel, BY)
    seen = jobs.load_job(tx, "one")
    execution.stop(tx, claim, 114.0)
    acknowledged = jobs.load_job(tx, "one")
    assert not recovery.revoke(tx, "one", seen.status, seen.fence, 114.0)
    assert jobs.load_job(tx, "one") == acknowledged


def test_a_held_job_that_is_expired_is_held_no_more(tx: Connection) -> None:
    accept(tx, "one")
    jobs.update_job(tx, jobs.load_job(tx, "one"), held_reason="three attempts ended with their worker")
    operators.act(tx, "expire", "one", operators.expire, BY)
    ended = jobs.load_job(tx, "one")
    assert (ended.status, ended.held_reason) == (Status.INTERRUPTED, None)
    assert ended.error == "expired: by operator: too late"
