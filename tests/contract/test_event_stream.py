"""How a stream is sent, on a real connection: keepalives between frames, readers that take nothing let go."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from jobdeck_backend.api import event_stream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FRAME = b"event: log\ndata: " + b"x" * 3_000_000 + b"\n\n"


@asynccontextmanager
async def serving(frames: Callable[[], AsyncIterator[bytes]]) -> AsyncIterator[int]:
    """The port of a server whose only page is that stream."""

    async def page(_request: Request) -> Response:
        return event_stream.respond(frames())

    app = Starlette(routes=[Route("/", page)])
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_level="critical"))
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:  # noqa: ASYNC110  uvicorn offers no event
            await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = server.force_exit = True
    await task


def in_loop(test: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(go())


def test_r28_a_reader_that_takes_nothing_is_let_go_and_little_is_kept_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "SEND_TIMEOUT_S", 0.2)
    made, left = 0, asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        nonlocal made
        try:
            while True:
                made += 1
                yield FRAME
        finally:
            left.set()

    async def test() -> None:
        async with serving(endless) as port:
            _reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await left.wait()
            writer.transport.abort()

    in_loop(test)
    assert made < 10


def test_silence_is_filled_with_comments_that_never_come_within_a_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "KEEPALIVE_S", 0.001)
    told = asyncio.Event()

    async def seldom() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield FRAME
        await told.wait()

    async def test() -> None:
        async with serving(seldom) as port, httpx.AsyncClient() as client:
            received = b""
            async with client.stream("GET", f"http://127.0.0.1:{port}/") as response:
                async for piece in response.aiter_bytes():
                    received += piece
                    if received.endswith(b": keepalive\n\n") and received.count(b"event: log") == 4:
                        told.set()
            assert received.count(FRAME) == 4
            assert received.replace(b": keepalive\n\n", b"") == 4 * FRAME

    in_loop(test)
