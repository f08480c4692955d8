"""A job's stream for readers that are slow, or that name a place the log never had (R27, R28)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from jobdeck_backend.api.streams import PAGE, Streaming, job_frames
from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution
from jobdeck_backend.commands.notices import notice
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tailer import BACKLOG_MAX, Tailer

JOB = "slowly-read"


def opened(file: Path) -> Database:
    database = Database(file, synchronous="NORMAL")
    with database.write() as tx:
        submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=JOB), now())
    return database


async def read_until(frames: AsyncIterator[bytes], *wanted: bytes) -> bytes:
    """What comes until all of ``wanted`` came in this order."""
    read = b""
    async with asyncio.timeout(10):
        async for chunk in frames:
            read += chunk
            place = 0
            for text in wanted:
                place = read.find(text, place) + 1
                if not place:
                    break
            else:
                return read
    raise AssertionError(f"the stream ended before {wanted}")


def say(database: Database, count: int) -> int:
    with database.write() as tx:
        return events.append(tx, JOB, [notice("log", now(), "x") for _ in range(count)], now())


async def catch_up(database: Database) -> None:
    tailer = Tailer(database)
    tailer.start()
    frames = job_frames(Streaming(database, tailer, asyncio.Event()), JOB, 0)
    await read_until(frames, b'"status":"submitted"')
    with database.write() as tx:
        execution.claim(tx, JOB, 0, worker="w", pid=1, epoch=1, now=now())
    last = say(database, BACKLOG_MAX + 1)
    async with asyncio.timeout(10):
        while tailer.dropped == 0:
            tailer.wake()
            await asyncio.sleep(0)
    read = await read_until(
        frames, b"event: workflow.start", b'data: {"status":"running"}', f"id: {last}\n".encode()
    )
    assert read.count(b"event: job.status") == 1
    await tailer.stop()
    database.close()


def test_a_reader_that_fell_behind_is_told_of_the_status_it_missed_in_its_place(file: Path) -> None:
    asyncio.run(catch_up(opened(file)))


async def share(database: Database) -> None:
    tailer = Tailer(database)
    tailer.start()
    streaming = Streaming(database, tailer, asyncio.Event())
    readers = [job_frames(streaming, JOB, 0) for _ in range(3)]
    for reader in readers:
        await read_until(reader, b"event: job.status")
    arriving = [asyncio.ensure_future(anext(reader)) for reader in readers]
    last = say(database, 5)
    async with asyncio.timeout(10):
        chunks = [await chunk for chunk in arriving]
    assert chunks[0].count(b"\nevent: ") == 5
    assert f"id: {last}\n".encode() in chunks[0]
    assert all(chunk is chunks[0] for chunk in chunks), "encoded once, and the same bytes for all"
    await tailer.stop()
    database.close()


def test_r28_readers_of_one_job_are_sent_the_same_bytes(file: Path) -> None:
    asyncio.run(share(opened(file)))


async def join_beyond(database: Database) -> None:
    tailer = Tailer(database)
    tailer.start()
    frames = job_frames(Streaming(database, tailer, asyncio.Event()), JOB, 10**6)
    before = await read_until(frames, b"event: job.status")
    assert b"id: " not in before
    first = say(database, 1)
    tailer.wake()
    await read_until(frames, f"id: {first}\n".encode())
    await tailer.stop()
    database.close()


def test_a_cursor_beyond_the_end_is_the_end_and_misses_nothing_that_comes(file: Path) -> None:
    asyncio.run(join_beyond(opened(file)))


async def stop_in_the_replay(database: Database) -> list[bytes]:
    say(database, 3 * PAGE)
    tailer, stopping = Tailer(database), asyncio.Event()
    frames = job_frames(Streaming(database, tailer, stopping), JOB, 0)
    first = await read_until(frames, b"id: ")
    stopping.set()
    async with asyncio.timeout(10):
        return [first, *[chunk async for chunk in frames]]


def test_r30_a_reader_in_the_midst_of_a_long_replay_is_told_that_the_server_stops(file: Path) -> None:
    """And goes on later: what it was sent is whole, and its last id is where the log goes on."""
    database = opened(file)
    first, *rest = asyncio.run(stop_in_the_replay(database))
    database.close()
    assert first.endswith(b"\n\n")
    assert f"id: {PAGE}\n".encode() in first
    assert [chunk.partition(b"\n")[0] for chunk in rest] == [b"event: job.shutdown"]


async def read_all(database: Database) -> list[bytes]:
    frames = job_frames(Streaming(database, Tailer(database), asyncio.Event()), JOB, 0)
    return [chunk async for chunk in frames]


def test_a_stream_whose_log_cannot_be_read_says_so_and_ends(file: Path) -> None:
    database = opened(file)
    file.unlink()
    mode, error = asyncio.run(read_all(database))
    database.close()
    assert mode.startswith(b"event: stream.mode")
    assert error.startswith(b'event: job.error\ndata: {"error":')
