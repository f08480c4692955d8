"""What a pruning may take: nothing that is still needed, whole jobs only, and positions that never fall."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_backend.commands import delivery, effects, execution, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Effect, EffectState, Policy
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store import events, retention, space
from jobdeck_backend.store.engine import Database
from sqlalchemy import Connection, text

EVERYTHING = 10_000.0
CHECKPOINTS = text("SELECT count(*) FROM checkpoints WHERE thread_id = :thread")
SAVE = text(
    "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata) "
    "VALUES (:thread, '', 'one', 'msgpack', x'00', '{}')"
)


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    database = Database(file, synchronous="NORMAL")
    yield database
    database.close()


@pytest.fixture
def tx(database: Database) -> Iterator[Connection]:
    with database.write() as connection:
        yield connection
        assert fsck.check(connection) == []


def accept(tx: Connection, job_id: str, at: float, **more: object) -> None:
    submit(tx, NewJob("probe", "{}", "q", job_id=job_id, **more), at)  # type: ignore[arg-type]


def end(tx: Connection, job_id: str, at: float) -> None:
    assert not isinstance(
        operators.act(tx, "expire", job_id, operators.expire, operators.By("operator", at)), Exception
    )


def may_go(tx: Connection, before: float = EVERYTHING) -> set[str]:
    return {one.job_id for one in retention.prunable(tx, before)}


def test_a_dependent_keeps_what_it_waited_for_and_both_go_together(tx: Connection) -> None:
    accept(tx, "first", 1)
    end(tx, "first", 2)
    accept(tx, "second", 3, after=("first",))
    accept(tx, "newest", 4)
    end(tx, "newest", 5)
    assert may_go(tx) == set()
    end(tx, "second", 100)
    accept(tx, "later", 101)
    assert may_go(tx, 50) == {"newest"}, "the second is too young, and needs the first"
    order = [one.job_id for one in retention.prunable(tx, EVERYTHING)]
    assert order == ["newest", "second", "first"]
    assert retention.remove(tx, ["first"], EVERYTHING)[0] == (), "not while the second is there"
    assert set(retention.remove(tx, ["second", "first"], EVERYTHING)[0]) == {"first", "second"}


def test_an_uncertain_effect_and_a_thread_that_still_runs_keep_their_job(tx: Connection) -> None:
    accept(tx, "paying", 1)
    delivery.deliver(tx, epoch=0, room=1, pending=(), urgent_room=0, now=2)
    claim = execution.claim(tx, "paying", 0, worker="w0-e0", pid=1, epoch=0, now=3)
    assert claim is not None
    key = "paying/pay/1/charge/0"
    effects.intend(
        tx, claim, Effect(key, "paying", "charge", "pay", 1, Policy.MANUAL, EffectState.INTENT, "{}", 1, 1, 4)
    )
    end(tx, "paying", 5)
    accept(tx, "newest", 6)
    end(tx, "newest", 7)
    assert may_go(tx) == set(), "its worker has not ended"
    execution.end(tx, claim, "expired", 8)
    assert may_go(tx) == set(), "its effect is uncertain"
    operators.act(
        tx,
        "verdict",
        "paying",
        effects.verdict(key, EffectState.NOT_HAPPENED, None),
        operators.By("operator", 9),
    )
    accept(tx, "newer", 10)
    assert may_go(tx) >= {"paying"}


def test_a_threads_progress_goes_with_its_last_job_and_no_turn_without_those_before(tx: Connection) -> None:
    tx.execute(SAVE, {"thread": "session"})
    for turn, began in (("turn-1", 10), ("turn-2", 20)):
        accept(tx, turn, began, thread_id="session")
        end(tx, turn, began + 5)
    accept(tx, "newest", 40)
    assert may_go(tx, 20) == {"turn-1"}
    assert may_go(tx) == {"turn-1", "turn-2"}
    assert retention.remove(tx, ["turn-1"], EVERYTHING)[1]["checkpoints"] == 0
    assert tx.execute(CHECKPOINTS, {"thread": "session"}).scalar_one() == 1
    assert retention.remove(tx, ["turn-2"], EVERYTHING)[1]["checkpoints"] == 1


def test_the_database_is_told_as_large_as_a_copy_of_it_while_its_log_holds_the_newest_pages(
    database: Database, tmp_path: Path
) -> None:
    with database.write() as tx:
        for number in range(200):
            accept(tx, f"job-{number}", number, callback_url=None)
    with database.read() as tx:
        told = space.measure(tx, database.path)
        driver = tx.connection.driver_connection
        assert told is not None
        assert isinstance(driver, sqlite3.Connection)
        with contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            driver.backup(copy)
    assert told.database_bytes == (tmp_path / "copy.db").stat().st_size


def test_positions_never_fall_and_what_is_free_is_given_back(database: Database) -> None:
    with database.write() as tx:
        for number in range(200):
            accept(tx, f"job-{number}", number, callback_url=None)
            end(tx, f"job-{number}", 1_000 + number)
        last = events.last_position(tx)
        going = [one.job_id for one in retention.prunable(tx, EVERYTHING)]
        assert len(going) == 199
        retention.remove(tx, going, EVERYTHING)
        assert events.last_position(tx) == last
    with database.write() as tx:
        free = space.measure(tx, database.path).free_bytes
        assert free > 0
        assert space.give_back(tx) == free
        accept(tx, "next", 2_000)
        assert events.last_position(tx) > last
