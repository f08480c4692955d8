"""What a caller is owed: from the transaction that ends the job, taken once at a time, settled once (R8)."""

import orjson
import pytest
from jobdeck_backend.commands import callback, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.commands.transition import load
from jobdeck_backend.jobs.records import Notification
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store import notifications, tables
from jobdeck_backend.store.engine import Database
from sqlalchemy import Connection

URL = "https://hooks.example.org/x"


def accept(tx: Connection, job_id: str, url: str | None = URL) -> None:
    submit(tx, NewJob("probe", "{}", "q", job_id=job_id, callback_url=url), 100.0)


def expire(tx: Connection, job_id: str, now: float = 200.0) -> None:
    admission, job = load(tx, job_id)
    operators.expire(tx, admission, job, operators.By("operator", now))


def owed(tx: Connection, job_id: str) -> Notification:
    found = notifications.newest_of_job(tx, job_id)
    assert found is not None
    return found


def take(tx: Connection, now: float, limit: int = 10) -> list[Notification]:
    return notifications.take(tx, now, limit, now + 15)


def test_it_is_owed_from_the_very_transaction_that_ends_the_job(database: Database) -> None:
    with database.write() as tx:
        accept(tx, "one")

    def end_and_fail() -> None:
        with database.write() as tx:
            expire(tx, "one")
            assert owed(tx, "one").attempts == 0
            raise RuntimeError("the transaction fails")

    with pytest.raises(RuntimeError):
        end_and_fail()
    with database.read() as tx:
        assert notifications.newest_of_job(tx, "one") is None
        assert load(tx, "one")[0].outcome is None


def test_nothing_is_owed_without_a_url_or_before_an_end(tx: Connection) -> None:
    accept(tx, "quiet", url=None)
    expire(tx, "quiet")
    accept(tx, "unfinished")
    assert notifications.next_due(tx) is None


def test_what_is_taken_is_nobody_elses_until_its_time_is_over(tx: Connection) -> None:
    for job_id in ("one", "two"):
        accept(tx, job_id)
        expire(tx, job_id)
    assert notifications.next_due(tx) == 200
    assert take(tx, 199) == []
    (first,) = take(tx, 200, limit=1)
    (second,) = take(tx, 200)
    assert {first.job_id, second.job_id} == {"one", "two"}
    assert take(tx, 214.9) == []
    again = take(tx, 215)
    assert {one.id for one in again} == {first.id, second.id}
    assert {one.attempts for one in again} == {2}
    assert {one.body for one in again} == {first.body, second.body}


def test_an_attempt_is_settled_once_and_not_by_a_later_ones_late_predecessor(tx: Connection) -> None:
    accept(tx, "one")
    expire(tx, "one")
    (late,) = take(tx, 200)
    (newer,) = take(tx, 215)
    assert not callback.attempt_failed(tx, late, "no answer", None)
    assert callback.attempt_failed(tx, newer, "no answer", 300.0)
    assert (owed(tx, "one").state, owed(tx, "one").next_at) == ("pending", 300)
    (last,) = take(tx, 300)
    assert callback.delivered(tx, last, 301.0)
    assert not callback.attempt_failed(tx, last, "no answer", 400.0)
    done = owed(tx, "one")
    assert (done.state, done.attempts, done.last_error, done.delivered_at) == ("delivered", 3, None, 301)
    assert notifications.next_due(tx) is None


def test_a_long_reason_is_told_by_its_beginning(tx: Connection) -> None:
    accept(tx, "one")
    admission, job = load(tx, "one")
    operators.expire(tx, admission, job, operators.By("operator", 200.0, reason="long " * 10_000))
    body = orjson.loads(owed(tx, "one").body)
    assert body["reason"].startswith("by operator: long ")
    assert len(owed(tx, "one").body) < 10_000


def test_fsck_finds_a_caller_who_was_not_told(tx: Connection) -> None:
    accept(tx, "one")
    operators.act(tx, "expire", "one", operators.expire, operators.By("operator", 200.0))
    assert fsck.check(tx) == []
    tx.execute(tables.notifications.delete())
    (violation,) = fsck.check(tx)
    assert (violation.invariant, violation.job_id) == ("R8 the caller is told", "one")
