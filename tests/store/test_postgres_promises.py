"""What only a server's database needs: late commits, a lost LISTEN, rows that somebody holds (R26, R29)."""

import asyncio
import multiprocessing
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery, execution, operators
from jobdeck_backend.commands.notices import notice
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.store import events, jobs, places, retention
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from jobdeck_backend.store.prepared import Prepared
from jobdeck_backend.store.tables import leases
from jobdeck_backend.store.tailer import Tailer
from jobdeck_backend.store.transactions import transact
from postgres_server import PostgresServer
from running_backend import wait_until
from sqlalchemy import Connection, Row, insert
from sqlalchemy.exc import IntegrityError

_INSERT = insert(leases)


@pytest.fixture
def place(new_postgres_database: Callable[[], str]) -> Path | str:
    """PostgreSQL only."""
    return new_postgres_database()


def accept(tx: Connection, *job_ids: str) -> None:
    for job_id in job_ids:
        submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id), now())


def append(tx: Connection, job_id: str) -> None:
    events.append(tx, job_id, [notice("log", now(), "x")], now())


def test_r29_no_event_that_commits_late_slips_behind_a_place(database: Database) -> None:
    with database.write() as tx:
        accept(tx, "early", "late")
    with database.read() as tx:
        start = places.end(tx)
    with database.write() as late:
        append(late, "late")
        with database.write() as early:
            append(early, "early")
        with database.read() as tx:
            between = places.end(tx)
            assert places.jobs_with_news(tx, start) == ["early"]
            assert places.jobs_with_news(tx, between) == []
    with database.read() as tx:
        (seen,), behind = places.look(tx, between)
        assert (seen.job_id, seen.seq) == ("late", 2)
        assert seen.position < events.last_position(tx), "a place that were a number would have skipped it"
        assert places.look(tx, behind)[0] == []


def test_a_look_reads_what_is_new_and_not_the_whole_log(database: Database) -> None:
    """As long as the server has no statistics of a new table, it would: the figures are its own."""
    table = "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'events'"

    def scans() -> Row[Any]:
        with database.read() as tx:
            return tx.exec_driver_sql(table).one()

    async def follow() -> None:
        tailer = Tailer(database)
        heard: asyncio.Queue[Sequence[StoredEvent]] = asyncio.Queue()
        tailer.listen(heard.put_nowait)
        tailer.start()
        async with asyncio.timeout(10):
            for number in range(5):
                with database.write() as tx:
                    append(tx, f"job-{number}")
                await heard.get()
        await tailer.stop()

    with database.write() as tx:
        accept(tx, *(f"job-{number}" for number in range(300)))
    before = scans()
    asyncio.run(follow())
    wait_until(lambda: scans().idx_scan - before.idx_scan >= 5, what="the looks are counted, by the index")
    assert scans().seq_scan == before.seq_scan


def test_a_lost_listen_is_replaced_by_looking_and_comes_back(
    database: Database, postgres: PostgresServer
) -> None:
    with database.write() as tx:
        accept(tx, "one")
    listeners = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'"
    here = f"{listeners} AND datname = '{database.name.rpartition('/')[2]}'"

    async def until(condition: Callable[[], bool]) -> None:
        await asyncio.to_thread(wait_until, condition)

    async def go() -> None:
        tailer, heard = Tailer(database), []
        tailer.listen(heard.extend)
        tailer.start()
        await until(lambda: tailer.mode["mode"] == "pubsub")
        (row,) = await asyncio.to_thread(postgres.execute, here)
        with tailer.subscribe("one") as subscription:
            await asyncio.to_thread(postgres.execute, f"SELECT pg_terminate_backend({row[0]})")
            async with asyncio.timeout(10):
                await subscription.wait()
            subscription.take()
            assert tailer.mode == {"mode": "polling", "interval_ms": 50}
        with database.write() as tx:
            append(tx, "one")
        await until(lambda: len(heard) == 1)
        await until(lambda: tailer.mode["mode"] == "pubsub")
        with database.write() as tx:
            append(tx, "one")
        await until(lambda: [event.seq for event in heard] == [2, 3])
        await tailer.stop()

    asyncio.run(go())


def test_r14_a_job_loaded_to_be_changed_is_nobody_elses_until_the_commit(database: Database) -> None:
    """A worker that checked its fence saves only while that is still its own."""
    with database.write() as tx:
        accept(tx, "one")
        delivery.deliver(tx, epoch=1, room=1, pending=(), urgent_room=0, now=now())
        claim = execution.claim(tx, "one", 0, worker="w0-e1", pid=1, epoch=1, now=now())
    assert claim is not None

    def cancel() -> None:
        with database.write() as tx:
            operators.act(tx, "cancel", "one", operators.cancel, operators.By("operator", now()))

    cancelling = threading.Thread(target=cancel)
    with database.write() as tx:
        execution.check(tx, claim)
        cancelling.start()
        wait_until(lambda: _waiting_for_a_lock(database), what="the cancel waits")
        execution.record(tx, claim, [notice("log", now(), "mine")], now())
    cancelling.join(10)
    with pytest.raises(JobStopped), database.write() as tx:
        execution.check(tx, claim)
    with database.read() as tx:
        types = [event.type for event in events.read_after(tx, "one", 0, 10)]
    assert types[-2:] == ["job.update", "job.cancellation_requested"]


def _waiting_for_a_lock(database: Database) -> bool:
    with database.read() as tx:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        return bool(tx.exec_driver_sql(waiting).scalar_one())


def test_a_transaction_whose_connection_is_lost_is_done_once(database: Database) -> None:
    with database.write() as tx:
        accept(tx, "one")
    connection, lost = database.open_writer(), []

    def work(tx: Connection) -> int:
        append(tx, "one")
        if not lost:
            lost.append(tx.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
            with database.write() as other:
                other.exec_driver_sql("SELECT pg_terminate_backend(%s, 5000)", (lost[0],))
        append(tx, "one")
        return 7

    assert transact(connection, work) == 7
    connection.close()
    with database.read() as tx:
        assert [event.seq for event in events.read_after(tx, "one", 0, 10)] == [1, 2, 3]


def _migrate(url: str) -> None:
    database = Database(url, synchronous="NORMAL")
    migrate(database)
    database.close()


def test_processes_that_start_together_on_an_empty_database_migrate_it_once(postgres: PostgresServer) -> None:
    url = postgres.create()
    context = multiprocessing.get_context("fork")
    starting = [context.Process(target=_migrate, args=(url,)) for _ in range(3)]
    for process in starting:
        process.start()
    for process in starting:
        process.join(60)
        assert process.exitcode == 0


def test_what_postgresql_cannot_store_as_it_is_loses_no_job(database: Database) -> None:
    with database.write() as tx:
        submit(tx, NewJob("probe", "a\0b", "q", job_id="one", owner="x" * 1000), now())
        job = jobs.load_job(tx, "one")
        admission = jobs.load_admission(tx, "one")
    assert job is not None
    assert admission is not None
    assert (admission.input, len(admission.owner or "")) == ("a\ufffdb", 1000)


def test_both_clocks_of_the_databases_tell_the_time(database: Database, tmp_path: Path) -> None:
    for one in (database, Database(tmp_path / "jobdeck.db", synchronous="NORMAL")):
        assert abs(one.clock() - now()) < 2
        one.close()


def test_a_job_that_is_resumed_while_its_pruning_is_under_way_stays_whole(database: Database) -> None:
    with database.write() as tx:
        accept(tx, "old")
        operators.act(tx, "cancel", "old", operators.cancel, operators.By("operator", now()))
        accept(tx, "newest")

    def prune() -> Sequence[str]:
        with database.write() as tx:
            return retention.remove(tx, ["old"], now() + 1)[0]

    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            operators.act(tx, "resume", "old", operators.resume, operators.By("operator", now()))
            pruning = pool.submit(prune)
            wait_until(lambda: _waiting_for_a_lock(database), what="it waits for the job")
        assert pruning.result(10) == ()
    with database.read() as tx:
        assert jobs.load_status(tx, "old") is not None
        assert [one.seq for one in events.read_after(tx, "old", 0, 10)] == [1, 2, 3, 4]


def test_what_a_server_is_set_to_by_default_keeps_no_database_from_its_use(postgres: PostgresServer) -> None:
    url = postgres.create()
    name = url.rpartition("/")[2]
    postgres.execute("CREATE SCHEMA own", name)
    for setting in ("default_transaction_read_only = on", "search_path = own", "client_encoding = 'latin1'"):
        postgres.execute(f"ALTER DATABASE {name} SET {setting}")
    database = Database(url, synchronous="NORMAL")
    migrate(database)
    with database.write() as tx:
        submit(tx, NewJob("probe", "工作", "q", job_id="one"), now())
    with database.read() as tx:
        assert jobs.load_admission(tx, "one").input == "工作"  # type: ignore[union-attr]
    database.close()
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", name) == [(0,)]


@pytest.mark.parametrize("statement", [_INSERT, Prepared(_INSERT)], ids=["SQLAlchemy's", "prepared"])
def test_an_error_of_the_database_repeats_no_row(database: Database, statement: Any) -> None:
    row = {"role": "s3cret-role", "owner": "s3cret-owner", "epoch": 1, "acquired_at": 0.0, "expires_at": 0.0}
    with database.write() as tx:
        tx.execute(_INSERT, row)
    with database.write() as tx, pytest.raises(IntegrityError) as caught:
        statement.run(tx, row) if isinstance(statement, Prepared) else tx.execute(statement, row)
    told = "".join(format_exception(caught.value))
    assert "duplicate key" in told
    assert "s3cret" not in told
