"""Group commit: what is waiting goes together, and stands or falls alone (R3, R26)."""

import asyncio
import multiprocessing
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands.notices import notice
from jobdeck_backend.commands.submission import NewJob, submit, submit_together
from jobdeck_backend.errors import DatabaseLocked, InvalidInput, JobExists, NotEligible, Unavailable
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store import events, jobs
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.sqlite import BUSY_TIMEOUT_S
from jobdeck_backend.store.writer import GROUP_MAX, Writer
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

PROCESSES = 8
COMMANDS = 60


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    """A writer on it that does submissions together, as the server's does."""
    writer = Writer(database, together={submit: submit_together})
    yield writer
    writer.stop()


def on_a_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @wraps(test)
    def run(*args, **kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 90))

    return run


def new_job(job_id: str, **changes) -> NewJob:
    return NewJob(**{"agent_type": "probe", "input": "{}", "queue": "probe", "job_id": job_id, **changes})


def stall(_tx: Connection, started: threading.Event, go_on: threading.Event) -> None:
    """Keep the writer's transaction open until told."""
    started.set()
    assert go_on.wait(10)


def stalled(writer: Writer) -> threading.Event:
    """The writer is busy from now on, so that what follows is one group; set the event to let it go on."""
    started, go_on = threading.Event(), threading.Event()
    writer.submit(stall, started, go_on)
    assert started.wait(10)
    return go_on


def stored_ids(database: Database) -> set[str]:
    with database.read() as tx:
        return {row[0] for row in tx.execute(text("SELECT job_id FROM jobs"))}


@on_a_loop
async def test_a_refused_command_takes_no_neighbour_along(writer: Writer, database: Database) -> None:
    go_on = stalled(writer)
    before = writer.submit(submit, new_job("before"), now())
    refused = writer.submit(submit, new_job("refused", after=("nobody",)), now())
    twice = writer.submit(submit, new_job("before"), now())
    late = writer.submit(submit, new_job("late", deadline=now() - 1), now())
    after = writer.submit(submit, new_job("after"), now())
    go_on.set()
    assert (await before).job_id == "before"
    assert (await after).job_id == "after"
    with pytest.raises(InvalidInput):
        await refused
    with pytest.raises(InvalidInput):
        await late
    with pytest.raises(JobExists) as exists:
        await twice
    assert exists.value.details == {"request_matches": True}
    assert stored_ids(database) == {"before", "after"}
    with database.read() as tx:
        assert fsck.check(tx) == []


@on_a_loop
async def test_a_crowd_s_jobs_are_recorded_as_one_s_alone(writer: Writer, database: Database) -> None:
    moment = now()
    lone = new_job("lone", deadline_seconds=600, priority=3, stages_total=2)
    await writer.submit(submit, lone, moment)
    go_on = stalled(writer)
    crowd = [writer.submit(submit, replace(lone, job_id=f"job-{number}"), moment) for number in range(5)]
    go_on.set()
    assert [(await future).job_id for future in crowd] == [f"job-{number}" for number in range(5)]
    told = {}
    with database.read() as tx:
        for job_id in stored_ids(database):
            admission, job = jobs.load_admission(tx, job_id), jobs.load_job(tx, job_id)
            assert admission is not None
            assert job is not None
            (event,) = events.read_after(tx, job_id, 0, 10)
            (transition,) = jobs.load_transitions(tx, job_id)
            told[job_id] = [
                replace(admission, job_id="", thread_id=""),
                replace(job, job_id=""),
                (event.seq, event.type, event.status, event.at),
                {**transition, "id": 0, "job_id": ""},
            ]
        assert fsck.check(tx) == []
    assert len(told) == 6
    assert all(records == told["lone"] for records in told.values())


@on_a_loop
async def test_r21_i2_of_a_crowd_on_one_thread_the_first_is_taken(writer: Writer, database: Database) -> None:
    go_on = stalled(writer)
    crowd = [writer.submit(submit, new_job(f"job-{n}", thread_id="one"), now()) for n in range(4)]
    go_on.set()
    assert (await crowd[0]).job_id == "job-0"
    for refused in crowd[1:]:
        with pytest.raises(NotEligible):
            await refused
    assert stored_ids(database) == {"job-0"}


@on_a_loop
async def test_a_surprise_in_one_command_is_its_own_callers_alone(writer: Writer, database: Database) -> None:
    go_on = stalled(writer)
    surprise = writer.submit(lambda _tx: 1 / 0)
    good = writer.submit(submit, new_job("good"), now())
    go_on.set()
    with pytest.raises(ZeroDivisionError):
        await surprise
    await good
    assert stored_ids(database) == {"good"}


@on_a_loop
async def test_a_caller_who_left_before_its_turn_stores_nothing_and_stops_nobody(
    writer: Writer, database: Database
) -> None:
    go_on = stalled(writer)
    left = writer.submit(submit, new_job("left"), now())
    stayed = writer.submit(submit, new_job("stayed"), now())
    assert left.cancel()
    go_on.set()
    await stayed
    await writer.submit(submit, new_job("later"), now())
    assert stored_ids(database) == {"stayed", "later"}


@on_a_loop
async def test_what_waits_at_the_end_is_written_and_what_comes_later_refused(database: Database) -> None:
    writer = Writer(database)
    go_on = stalled(writer)
    waiting = [writer.submit(submit, new_job(f"job-{number}"), now()) for number in range(5)]
    stopping = threading.Thread(target=writer.stop)
    stopping.start()
    go_on.set()
    stopping.join(10)
    assert [(await future).job_id for future in waiting] == [f"job-{number}" for number in range(5)]
    with pytest.raises(Unavailable):
        writer.submit(submit, new_job("too-late"), now())


@on_a_loop
async def _append_many(place: Path | str, number: int, failures: "multiprocessing.Queue[str]") -> None:
    try:
        database = Database(place, synchronous="NORMAL")
        writer = Writer(database)
        futures = [
            writer.submit(submit, new_job(f"job-{number}-{index}"), now()) for index in range(COMMANDS // 2)
        ]
        for _ in range(COMMANDS):
            told = [notice("log", now(), f"process {number}")]
            futures.append(writer.submit(events.append, "shared", told, now()))
        await asyncio.gather(*futures)
        writer.stop()
        database.close()
    except Exception as error:
        failures.put(repr(error))


def test_r26_i4_eight_processes_write_one_log_without_gaps_or_losses(
    database: Database, place: Path | str
) -> None:
    with database.write() as tx:
        submit(tx, new_job("shared"), now())
    database.close()  # its connections are nobody's who is forked from here
    context = multiprocessing.get_context("fork")
    failures = context.Queue()
    processes = [
        context.Process(target=_append_many, args=(place, number, failures)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(90)
        assert process.exitcode == 0
    assert failures.empty(), failures.get()
    with database.read() as tx:
        log = events.read_after(tx, "shared", 0, 10_000)
        job = jobs.load_job(tx, "shared")
        assert fsck.check(tx) == []
    assert [event.seq for event in log] == list(range(1, PROCESSES * COMMANDS + 2))
    assert job is not None
    assert job.event_seq == PROCESSES * COMMANDS + 1
    positions = [event.position for event in log]
    assert positions == sorted(positions)
    assert len(stored_ids(database)) == PROCESSES * COMMANDS // 2 + 1


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@on_a_loop
async def test_whoever_waits_for_a_locked_database_is_told_of_it_as_soon_as_the_first_one(
    writer: Writer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One waits for the lock and the others for it; in groups, each with patience of its own, they would be told
    long after they gave up."""
    monkeypatch.setitem(BUSY_TIMEOUT_S, "NORMAL", 0.5)  # as the fixture opens it
    with database.write():
        crowd = [writer.submit(submit, new_job(f"job-{n}"), now()) for n in range(2 * GROUP_MAX + 1)]
        told, waiting = await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED)
        assert not waiting
    assert {type(one.exception()) for one in told} == {DatabaseLocked}
    await writer.submit(submit, new_job("later"), now())
    assert stored_ids(database) == {"later"}


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@on_a_loop
async def test_r3_nothing_is_accepted_into_a_database_that_was_removed_or_replaced(
    database: Database, writer: Writer, tmp_path: Path
) -> None:
    await writer.submit(submit, new_job("kept"), now())
    (tmp_path / "jobdeck.db").rename(tmp_path / "aside.db")
    for _ in range(2):
        with pytest.raises(Unavailable, match="removed or replaced"):
            await writer.submit(submit, new_job("lost"), now())
        (tmp_path / "jobdeck.db").touch()
    (tmp_path / "aside.db").rename(tmp_path / "jobdeck.db")
    await writer.submit(submit, new_job("later"), now())
    assert stored_ids(database) == {"kept", "later"}


def test_r38_an_error_of_the_database_does_not_repeat_what_was_given(database: Database) -> None:
    with pytest.raises(DBAPIError) as caught, database.read() as tx:
        tx.execute(text("SELECT * FROM nowhere WHERE x = :x"), {"x": "a secret"})
    assert "nowhere" in str(caught.value)
    assert "a secret" not in str(caught.value)
