"""Streams at scale: a long replay, many readers of one job, a thousand idle ones, how soon a commit arrives."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from jobdeck_backend.clock import now
from jobdeck_backend.commands.notices import notice
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database

from tests.bench.figures import Figure, percentile, rounds
from tests.bench.server import Server, wait_until
from tests.bench.submitting import PAUSED

REPLAYED = 100_000
READERS = 100
DELIVERED = 2_000
"""Events that each reader is sent, in commits of ``BURST``."""
BURST = 50
IDLE = 1_000
IDLE_S = 20.0


class Reader(asyncio.Protocol):
    """One stream over a bare socket, which counts what it is sent."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._tail = b""
        self.events = 0
        self.live = asyncio.Event()
        self._arrived = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        seen = self._tail + data
        self.events += seen.count(b"\nid: ")
        if b'"status"' in seen:
            self.live.set()
        self._tail = seen[-4:]
        self._arrived.set()

    async def wait(self, count: int) -> None:
        """Until it was sent so many events."""
        async with asyncio.timeout(60):
            while self.events < count:
                self._arrived.clear()
                await self._arrived.wait()


@asynccontextmanager
async def reading(server: Server, job_id: str, count: int) -> AsyncIterator[list[Reader]]:
    """So many streams of a job that are open and live."""
    url, loop = urlsplit(server.url), asyncio.get_running_loop()
    head = f"GET /v1/jobs/async/job/{job_id}/stream HTTP/1.1\r\nHost: {url.hostname}\r\n\r\n".encode()
    readers = []
    for _ in range(count):
        _transport, reader = await loop.create_connection(lambda: Reader(head), url.hostname, url.port)
        readers.append(reader)
    async with asyncio.timeout(60):
        for reader in readers:
            await reader.live.wait()
    try:
        yield readers
    finally:
        for reader in readers:
            reader.transport.abort()


def say(database: Database, job_id: str, count: int) -> tuple[int, float]:
    """Append so many events of an agent's size in one commit; the last one's number, and when it was done."""
    with database.write() as tx:
        text = "x" * 120
        last = events.append(tx, job_id, [notice("log", now(), text) for _ in range(count)], now())
    return last, time.perf_counter()


async def passing(seconds: float) -> None:
    """Until so much time has passed."""
    end = time.monotonic() + seconds
    await asyncio.to_thread(wait_until, lambda: time.monotonic() > end, seconds + 5, 0.1)


async def replay_s(server: Server, job_id: str, count: int) -> float:
    """Seconds until one reader has the whole log."""
    began = time.perf_counter()
    async with reading(server, job_id, 1) as (reader,):
        await reader.wait(count)
        return time.perf_counter() - began


async def deliveries_per_second(server: Server, database: Database, job_id: str) -> float:
    """A talking job and a hundred readers: events received by all of them, each second."""
    async with reading(server, job_id, READERS) as readers:
        before = [reader.events for reader in readers]
        began = time.perf_counter()
        for _ in range(DELIVERED // BURST):
            await asyncio.to_thread(say, database, job_id, BURST)
        for reader, seen in zip(readers, before, strict=True):
            await reader.wait(seen + DELIVERED)
        return READERS * DELIVERED / (time.perf_counter() - began)


async def idle_cost(server: Server, job_id: str) -> tuple[float, float]:
    """MB and per cent of a core that a thousand idle streams add."""

    def cpu_s() -> float:
        times = server.process.cpu_times()
        return times.user + times.system

    async def cpu_percent() -> float:
        await passing(3)  # until what was busy is at rest
        before = cpu_s()
        await passing(IDLE_S)
        return 100 * (cpu_s() - before) / IDLE_S

    alone = await cpu_percent()
    memory = server.process.memory_info().rss
    async with reading(server, job_id, IDLE):
        crowded = await cpu_percent()
        return (server.process.memory_info().rss - memory) / 1e6, crowded - alone


async def commit_to_subscriber_ms(server: Server, database: Database, job_id: str) -> list[float]:
    """From another process's commit until a reader has its event, one after the other."""
    taken = []
    async with reading(server, job_id, 1) as (reader,):
        for _ in range(rounds(300, 100)):
            before = reader.events
            _last, committed = await asyncio.to_thread(say, database, job_id, 1)
            await reader.wait(before + 1)
            taken.append((time.perf_counter() - committed) * 1_000)
    return taken


async def _measure(server: Server, database: Database) -> dict[str, Sequence[float]]:
    server.pause(PAUSED)
    idle, long, talking, told = (server.submit({}, queue=PAUSED) for _ in range(4))
    memory, cpu = await idle_cost(server, idle)
    last = 0
    for _ in range(REPLAYED // 10_000):
        last, _at = await asyncio.to_thread(say, database, long, 10_000)
    return {
        "memory": [memory],
        "cpu": [cpu],
        "replay": [await replay_s(server, long, last) for _ in range(rounds(5, 2))],
        "deliveries": [await deliveries_per_second(server, database, talking) for _ in range(rounds(5, 2))],
        "latency": await commit_to_subscriber_ms(server, database, told),
    }


def measure(server: Server) -> list[Figure]:
    """Written by this process, beside the server's own, as workers write."""
    database = Database(server.place, synchronous="NORMAL")
    seen = asyncio.run(_measure(server, database))
    database.close()
    latency = seen["latency"]
    return [
        Figure(f"{IDLE:,} idle streams, resident", "MB", list(seen["memory"]), 100),
        Figure(f"{IDLE:,} idle streams", "% of a core", list(seen["cpu"]), 1),
        Figure(f"replay of {REPLAYED:,} events", "s", list(seen["replay"]), 2),
        Figure(
            f"deliveries to {READERS} subscribers",
            "events/s",
            list(seen["deliveries"]),
            100_000,
            at_least=True,
        ),
        Figure("commit → subscriber, p50", "ms", [percentile(latency, 0.5)], 5),
        Figure("commit → subscriber, p99", "ms", [percentile(latency, 0.99)], 20),
    ]
