"""How event streams are sent: control frames, keepalives, and the end of a reader that takes nothing."""

import asyncio
from collections.abc import AsyncIterator

import anyio
import orjson
import structlog
from sse_starlette import EventSourceResponse
from starlette.types import Message, Receive, Scope, Send

from jobdeck_backend.api.caller import principal, until_expiry

log = structlog.get_logger(__name__)

KEEPALIVE_S = 15
SEND_TIMEOUT_S = 30
PIECE_BYTES = 256 << 10
FAREWELL_S = 0.9
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_KEEPALIVE: Message = {"type": "http.response.body", "body": b": keepalive\n\n", "more_body": True}


class _ReaderGoneError(Exception):
    """The reader took nothing of what is sent for too long."""


class EventStream(EventSourceResponse):
    """An event stream that ends when its reader takes nothing for ``SEND_TIMEOUT_S``."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        line = _Line(send)
        try:
            async with asyncio.TaskGroup() as group:
                comments = group.create_task(line.fill_silence())
                await super().__call__(scope, receive, line.send)
                comments.cancel()
        except* _ReaderGoneError:
            log.warning("a stream's reader took nothing; its connection is ended", path=scope["path"])


class _Line:
    """What one reader is sent. A frame of many megabytes has its time for each piece; nothing comes between two of
    them, and a comment after every silence."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._time = asyncio.get_running_loop().time
        self._said_at = self._time()
        self._open = False

    async def send(self, message: Message) -> None:
        """ASGI."""
        body = message.get("body", b"")
        async with self._turn:
            if len(body) <= PIECE_BYTES:
                await _send_in_time(self._send, message)
            else:
                for start in range(0, len(body), PIECE_BYTES):
                    await _send_in_time(self._send, {**message, "body": body[start : start + PIECE_BYTES]})
            self._open = message["type"] == "http.response.start" or message["more_body"]
            self._said_at = self._time()

    async def fill_silence(self) -> None:
        """For as long as there is one: a thousand idle streams wake for nothing else."""
        while True:
            await asyncio.sleep(self._said_at + KEEPALIVE_S - self._time())
            async with self._turn:
                if self._time() < self._said_at + KEEPALIVE_S:
                    continue
                if self._open:
                    await _send_in_time(self._send, _KEEPALIVE)
                self._said_at = self._time()


async def _send_in_time(send: Send, message: Message) -> None:
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await send(message)
    except TimeoutError:
        raise _ReaderGoneError from None


def respond(frames: AsyncIterator[bytes]) -> EventSourceResponse:
    """Serve pre-encoded frames as an event stream."""
    return EventStream(
        frames if principal() is None else until_expiry(frames),
        ping=0,  # comments are ours: the library sends them whatever else was said, at twice the cost
        # Present so that the library waits: the frames end by themselves when the server stops.
        shutdown_event=anyio.Event(),
        shutdown_grace_period=FAREWELL_S,
        headers=HEADERS,
        sep="\n",
    )


def control(type: str, payload: object) -> bytes:  # noqa: A002
    """A control frame: never an id, so that no client takes it for a place in the log."""
    return b"event: " + type.encode() + b"\ndata: " + orjson.dumps(payload) + b"\n\n"


def farewell() -> bytes:
    """The last frame of a stream that ends because the server does (R30)."""
    return control("job.shutdown", {"message": "server is shutting down; reconnect to go on"})
