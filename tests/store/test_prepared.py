"""A prepared statement does what SQLAlchemy would have done with it, on either database."""

from collections.abc import Callable
from pathlib import Path

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import StageRun
from jobdeck_backend.store import jobs
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.prepared import Prepared
from jobdeck_backend.store.tables import admissions
from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

_BY_ID = select(admissions).where(admissions.c.job_id == bindparam("id"))


@pytest.fixture
def one(database: Database) -> str:
    with database.write() as tx:
        submit(tx, NewJob("probe", "{}", "probe", "one", deadline_seconds=60), now())
    return "one"


def test_rows_have_the_same_values_and_types(database: Database, one: str) -> None:
    with database.read() as tx:
        row = Prepared(_BY_ID).first(tx, {"id": one})
        expected = tx.execute(_BY_ID, {"id": one}).one()
        assert row is not None
        assert [(type(value), value) for value in row] == [(type(value), value) for value in expected]
        assert Prepared(_BY_ID).first(tx, {"id": "unknown"}) is None


def test_what_is_set_may_differ_from_one_execution_to_another(database: Database, one: str) -> None:
    change = Prepared(update(admissions).where(admissions.c.job_id == bindparam("expected")))
    with database.write() as tx:
        assert change.run(tx, {"expected": one, "priority": 5}) == 1
        assert change.run(tx, {"expected": one, "outcome": "succeeded", "finished_at": 2.0}) == 1
        assert change.run(tx, {"expected": "unknown", "priority": 6}) == 0
    with database.read() as tx:
        found = tx.execute(_BY_ID, {"id": one}).one()
        assert (found.priority, found.outcome, found.finished_at) == (5, "succeeded", 2.0)


def test_r38_its_errors_are_sqlalchemys_and_tell_no_values(file: Path) -> None:
    database = Database(file, synchronous="NORMAL")
    with database.write() as tx:
        submit(tx, NewJob("probe", "{}", "probe", "one"), now())
    run = StageRun("one", "told-to-nobody", 1, 1, 1, 1.0, 2.0, "checkpoint", "hash")
    with database.write() as tx, pytest.raises(IntegrityError) as refused:
        jobs.insert_stages(tx, [run, run])
    assert "told-to-nobody" not in str(refused.value)
    with database.write() as tx:
        tx.exec_driver_sql("ALTER TABLE stages RENAME TO moved")
        with pytest.raises(OperationalError, match="no such table") as failed:
            jobs.insert_stages(tx, [run])
    assert "told-to-nobody" not in str(failed.value)
    database.close()


def test_a_refused_row_is_an_integrity_error_on_either_database(database: Database, one: str) -> None:
    run = StageRun(one, "node", 1, 1, 1, 1.0, 2.0, "checkpoint", "hash")
    with database.write() as tx, pytest.raises(IntegrityError):
        jobs.insert_stages(tx, [run, run])


def test_r24_a_connection_that_broke_is_told_and_the_next_transaction_has_another(
    new_postgres_database: Callable[[], str],
) -> None:
    database = Database(new_postgres_database(), synchronous="NORMAL")
    with database.write() as tx:
        submit(tx, NewJob("probe", "{}", "probe", "one"), now())
    kept = database.open_writer()
    with kept.begin():
        pid = kept.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    with database.write() as other:
        other.exec_driver_sql("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with pytest.raises(DBAPIError) as broken, kept.begin():
        jobs.load_status(kept, "one")
    assert broken.value.connection_invalidated
    with kept.begin():
        assert jobs.load_status(kept, "one") is not None
    kept.close()
    database.close()
