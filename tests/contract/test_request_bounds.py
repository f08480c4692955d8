"""A request's head of any size costs the server neither time nor memory, and nobody sends one for ever."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
import uvloop
from jobdeck_backend.api.request_bounds import HEAD_BYTES_MAX, bounded
from running_backend import JOBS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

PIECE = b"y" * 65_536
SENT_MAX = 32 << 20
HOST = b" HTTP/1.1\r\nHost: x\r\n"
START = b"POST /" + HOST
WHOLE = b"GET /unread" + HOST + b"\r\n"
BOUND_S = 0.4
PAUSE_S = 0.02


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _unread(_request: Request) -> Response:
    return PlainTextResponse("unread")


async def _outlast() -> None:
    """More time passes than a request has."""
    until = time.monotonic() + 2 * BOUND_S
    while time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(PAUSE_S)


async def _late(_request: Request) -> Response:
    async def parts() -> AsyncIterator[str]:
        for part in ("late", "r"):
            await _outlast()
            yield part

    await _outlast()
    return StreamingResponse(parts())


@asynccontextmanager
async def serving(request_s: float = 10.0) -> AsyncIterator[uvicorn.Server]:
    """A server of three pages."""
    pages = {"/": _length, "/unread": _unread, "/late": _late}
    app = Starlette(routes=[Route(path, page, methods=["GET", "POST"]) for path, page in pages.items()])
    config = uvicorn.Config(app, port=0, lifespan="off", log_level="critical", http=bounded(request_s))
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    async with asyncio.timeout(20):
        while not server.started:  # noqa: ASYNC110  uvicorn offers no event
            await asyncio.sleep(0.01)
        yield server
    server.should_exit = server.force_exit = True
    await running


def address_of(server: uvicorn.Server) -> tuple[str, int]:
    """Where it listens."""
    address: tuple[str, int] = server.servers[0].sockets[0].getsockname()
    return address


async def connect(server: uvicorn.Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to it."""
    return await asyncio.open_connection(*address_of(server))


async def answer_to(start: bytes, pieces: Iterator[bytes], end: bytes = b"") -> tuple[bytes, int]:
    """What a server answers, and how much it took."""
    async with serving() as server:
        reader, writer = await connect(server)
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


async def _answer_to_a_trickle(start: bytes, piece: bytes) -> bytes:
    """What is answered to who sends no more than a piece now and then, until the connection ends."""
    loop = asyncio.get_running_loop()
    received: list[bytes] = []

    async def receive(caller: socket.socket) -> None:
        with suppress(ConnectionError):  # what came after the end was never read
            while part := await loop.sock_recv(caller, 65_536):
                received.append(part)

    async with serving(BOUND_S) as server:
        with socket.create_connection(address_of(server)) as caller:
            caller.setblocking(False)
            receiving = asyncio.create_task(receive(caller))
            await loop.sock_sendall(caller, start)
            while not receiving.done():
                await asyncio.wait({receiving}, timeout=PAUSE_S)
                with suppress(ConnectionError):
                    await loop.sock_sendall(caller, piece)
    return b"".join(received)


TOO_SLOW = b"HTTP/1.1 408"
FETCHED = b"HTTP/1.1 200"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
LONG = b"Content-Length: 100000\r\n\r\n"


TRICKLES: dict[str, tuple[bytes, bytes, list[bytes]]] = {
    "nothing": (b"", b"", []),
    "empty lines": (b"", b"\r\n", []),
    "half a method": (b"GET", b"", [TOO_SLOW]),
    "a path": (b"GET /", b"y", [TOO_SLOW]),
    "headers": (START, b"X: y\r\n", [TOO_SLOW]),
    "a header": (START + b"X: ", b"y", [TOO_SLOW]),
    "a body that does not begin": (START + LONG, b"", [TOO_SLOW]),
    "a body": (START + LONG, b"y", [TOO_SLOW]),
    "chunks that do not begin": (START + CHUNKED, b"", [TOO_SLOW]),
    "chunks": (START + CHUNKED, b"1\r\ny\r\n", [TOO_SLOW]),
    "a chunk": (START + CHUNKED + b"FFFF\r\n", b"y", [TOO_SLOW]),
    "trailers": (START + CHUNKED + b"0\r\n", b"X: y\r\n", [TOO_SLOW]),
    "empty lines after an answer": (WHOLE, b"\r\n", [FETCHED]),
    "a path after an answer": (WHOLE + b"GET /", b"y", [FETCHED, TOO_SLOW]),
    "a body after an answer": (WHOLE + START + LONG, b"y", [FETCHED, TOO_SLOW]),
    "a body nobody reads": (b"POST /unread" + HOST + LONG, b"y", [FETCHED]),
    "many chunks nobody reads": (
        b"POST /unread" + HOST + CHUNKED,
        b"400\r\n" + b"y" * 1024 + b"\r\n",
        [FETCHED],
    ),
}
"""What is sent at once, what again and again, and what is answered."""


@pytest.mark.parametrize("name", TRICKLES)
def test_a_request_that_does_not_come_in_ends_with_408_where_nothing_else_was_said(name: str) -> None:
    start, piece, answers = TRICKLES[name]
    received = asyncio.run(_answer_to_a_trickle(start, piece))
    assert [b"HTTP/1.1 " + one[:3] for one in received.split(b"HTTP/1.1 ")[1:]] == answers
    assert received.endswith(b'"the request did not come in within 0.4 s"}') == (TOO_SLOW in answers)


def test_a_slow_body_that_comes_on_and_a_late_answer_have_their_time() -> None:
    async def walk() -> None:
        async with serving(BOUND_S) as server:
            reader, writer = await connect(server)
            writer.write(START + CHUNKED)
            slowly = asyncio.create_task(_outlast())
            while not slowly.done():
                writer.write(b"100\r\n" + PIECE[:256] + b"\r\n")
                await asyncio.wait({slowly}, timeout=PAUSE_S)
            writer.write(b"0\r\n\r\n")
            # On the same connection, with the beginning of another one: what takes long here is not the caller's.
            writer.write(b"GET /late" + HOST + b"\r\nGET /unr")
            received = await reader.readuntil(b"r\r\n0\r\n\r\n")
            writer.write(WHOLE[len("GET /unr") :])
            received += await reader.readuntil(b"unread")
            assert received.count(FETCHED) == 3
            writer.close()

    asyncio.run(walk())


ASKED_AND_GONE: dict[str, tuple[bytes, int]] = {
    "a request": (WHOLE, 1),
    "a body": (START + b"Content-Length: 3\r\n\r\nyes", 1),
    "a late answer": (b"GET /late" + HOST + b"\r\n", 1),
    "several requests": (b"GET /late" + HOST + b"\r\n" + WHOLE + WHOLE, 3),
    "half a body": (START + LONG + b"y", 0),
    "half a head": (b"GET /", 0),
    "half a request after another": (b"GET /late" + HOST + b"\r\n" + START + LONG, 0),
    "nothing": (b"", 0),
}
"""What is sent before the caller says that it sends no more, and how many answers it gets."""


@pytest.mark.parametrize("name", ASKED_AND_GONE)
def test_who_sends_no_more_is_answered_what_it_asked_for_whole(name: str) -> None:
    asked, answers = ASKED_AND_GONE[name]

    async def walk() -> bytes:
        async with serving() as server:
            reader, writer = await connect(server)
            writer.write(asked)
            writer.write_eof()
            received = await reader.read()  # the server ends the connection
            writer.close()
            return received

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        received = runner.run(walk())
    assert received.count(FETCHED) == answers


def test_who_asked_while_the_process_was_stopped_is_answered() -> None:
    async def walk() -> None:
        async with serving(BOUND_S) as server:
            reader, writer = await connect(server)
            while not server.server_state.connections:  # noqa: ASYNC110
                await asyncio.sleep(0)
            writer.write(WHOLE)
            threading.Event().wait(2 * BOUND_S)  # as SIGSTOP does, this keeps the loop
            assert (await reader.readuntil(b"unread")).startswith(FETCHED)
            writer.close()

    # The loop that serves: it calls timers before it looks at sockets.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(walk())


def test_a_submit_too_slow_stores_nothing_and_who_waits_for_a_job_is_left_alone(start_backend) -> None:
    backend = start_backend(JOBDECK_REQUEST_TIMEOUT_S=str(BOUND_S))
    body = json.dumps({"agent_type": "probe", "input": "{}", "job_id": "slow"}).encode()
    head = (
        f"POST {JOBS}/submit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    address = (backend.http.base_url.host, backend.http.base_url.port)
    with socket.create_connection(address, timeout=20) as stalled:
        stalled.sendall(head.encode() + body[:-1])
        answer = b"".join(iter(lambda: stalled.recv(65_536), b""))
    assert answer.startswith(TOO_SLOW)
    assert backend.http.get(f"{JOBS}/job/slow").status_code == 404
    asked = {"input_message": json.dumps({"stages": [{"name": "long", "seconds": 4 * BOUND_S}]})}
    waited = backend.http.post("/v1/workflow/async", json=asked | {"workflow": "probe", "sync_timeout": 20})
    assert waited.status_code == 200, waited.text
    job_id = backend.submit({"name": "long", "seconds": 4 * BOUND_S})
    assert backend.events(job_id)[-1].data["status"] == "success"
    assert "Traceback" not in backend.log.read_text()
