"""A request's head of any size costs the server neither time nor memory."""

import asyncio
from collections.abc import Iterator

import uvicorn
from jobdeck_backend.api.request_head import HEAD_BYTES_MAX, BoundedHeadProtocol
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

PIECE = b"y" * 65_536
SENT_MAX = 32 << 20
START = b"POST / HTTP/1.1\r\nHost: x\r\n"


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def answer_to(start: bytes, pieces: Iterator[bytes], end: bytes = b"") -> tuple[bytes, int]:
    """What a server of one page answers, and how much it took."""
    app = Starlette(routes=[Route("/", _length, methods=["POST"])])
    config = uvicorn.Config(app, port=0, lifespan="off", log_level="critical", http=BoundedHeadProtocol)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    async with asyncio.timeout(20):
        while not server.started:  # noqa: ASYNC110  uvicorn offers no event
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        taken = 0
        try:
            writer.write(start)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                taken += len(piece)
            writer.write(end)
            received = await reader.read()
        except ConnectionError:
            received = b""
        writer.close()
    server.should_exit = server.force_exit = True
    await serving
    return received, taken


def test_a_head_without_an_end_is_refused_early() -> None:
    fields = b"".join(b"X-%06d: y\r\n" % number for number in range(4_096))
    for start, piece in ((START + b"X: ", PIECE), (START, fields), (b"POST /?", PIECE)):
        received, taken = asyncio.run(answer_to(start, (piece for _ in range(SENT_MAX // len(piece)))))
        assert taken < SENT_MAX // 2, "the rest is not even read"
        assert not received or received.startswith(b"HTTP/1.1 4"), "a reset may overtake the answer"


def test_trailers_without_an_end_are_refused_early() -> None:
    start = START + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: "
    _received, taken = asyncio.run(answer_to(start, (PIECE for _ in range(SENT_MAX // len(PIECE)))))
    assert taken < SENT_MAX // 2


def test_what_is_within_the_bound_is_served_with_a_body_of_any_size() -> None:
    size = 8 * HEAD_BYTES_MAX
    start = START + b"Connection: close\r\nX: " + b"y" * 60_000 + b"\r\nContent-Length: %d\r\n\r\n" % size
    received, taken = asyncio.run(answer_to(start, (PIECE for _ in range(size // len(PIECE)))))
    assert received.startswith(b"HTTP/1.1 200")
    assert received.endswith(b"\r\n\r\n%d" % size)
    assert taken == size
