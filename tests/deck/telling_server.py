"""A server that tells a ``World`` on a real socket: every answer, the feed, a job's stream; it refuses acts."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from .wayward import EVENT_STREAM, answer, frame
from .world import World

PAGE_ROWS = 10_000
KEEPALIVE_S = 1.0


class TellingServer:
    """Answers by path, on the running loop."""

    def __init__(self, world: World) -> None:
        self.url = ""
        self.tell(world)

    def tell(self, world: World) -> None:
        """Tells this world from now on."""
        self.world = world
        self._answers = (
            (r"/v1/ops/overview", world.overview),
            (r"/v1/ops/queues", world.queues),
            (r"/v1/ops/failures", world.failures),
            (r"/v1/ops/audit", world.audit),
            (r"/v1/ops/cluster", world.cluster),
            (r"/v1/ops/recovery/plan", world.plan),
            (r"/v1/ops/drills", world.drills),
            (r"/v1/ops/storage", world.storage),
            (r"/v1/ops/forecast", world.forecast),
            (r"/v1/ops/workers/.*/log", world.log),
            (r"/v1/ops/jobs/[^/]*/why", world.detail["why"]),
            (r"/v1/ops/jobs/[^/]*", world.detail),
            (r"/v1/jobs/async/job/[^/]*/report", world.report),
            (r"/v1/jobs/async/job/[^/]*/artifacts", {"artifacts": world.detail["artifacts"]}),
        )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of a connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            path, _, query = target.partition("?")
            if method == "GET" and path.endswith("/stream"):
                writer.write(EVENT_STREAM + self._frames(path))
                await self.hold(path, reader, writer)
            else:
                length = re.search(r"content-length: (\d+)", head.lower())
                body = await reader.readexactly(int(length[1]) if length else 0)
                told = self._answer(path, query) if method == "GET" else await self.act(path, body)
                writer.write(told)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def hold(self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keeps a stream alive until the deck closes it."""
        closed = asyncio.ensure_future(reader.read())
        while not closed.done():
            writer.write(b": keepalive\n\n")
            await writer.drain()
            await asyncio.wait([closed], timeout=KEEPALIVE_S)
        await asyncio.gather(closed, return_exceptions=True)

    def _frames(self, path: str) -> bytes:
        if path == "/v1/ops/events/stream":
            events = [frame("events", event) for event in self.world.events]
            return frame("overview", self.world.overview) + b"".join(events)
        told = self.world.stream()
        stored = [frame(kind, data, number) for number, (kind, data) in enumerate(told, 1)]
        return b"".join(stored) + frame("stream.mode", {"mode": "live"})

    async def act(self, path: str, body: bytes) -> bytes:
        """The answer to an act."""
        return answer(409, {"detail": {"code": "refused", "message": "This server only tells."}})

    def _answer(self, path: str, query: str) -> bytes:
        if path == "/v1/ops/jobs":
            return answer(200, self._page(query))
        if path.endswith("/content"):
            return answer(200, "\n".join(self.world.log["lines"]).encode("utf-8", "replace"), "text/csv")
        for pattern, told in self._answers:
            if re.fullmatch(pattern, path):
                return answer(200, told)
        return answer(404, {"detail": "no such thing"})

    def _page(self, query: str) -> dict[str, Any]:
        cursor = re.search(r"cursor=(\d+)", query)
        begin = int(cursor[1]) if cursor else 0
        rows = self.world.jobs[begin : begin + PAGE_ROWS]
        end = begin + len(rows)
        total = len(self.world.jobs)
        return {"jobs": rows, "total": total, "matching": total, "next": str(end) if end < total else None}


@asynccontextmanager
async def telling(told: TellingServer) -> AsyncIterator[TellingServer]:
    """The server, until the end of the block."""
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0, limit=1 << 24)
    async with server:
        told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield told


@contextmanager
def told_beside(world: World, teller: Callable[[World], TellingServer] = TellingServer) -> Iterator[str]:
    """The server's URL, on a thread of its own: for a deck or a command that is not on this loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = telling(teller(world))
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result().url
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
