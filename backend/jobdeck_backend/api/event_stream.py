"""How event streams are sent: control frames, keepalives, and the end of a reader that takes nothing."""

import asyncio
from collections.abc import AsyncIterator

import anyio
import orjson
import structlog
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Message, Receive, Scope, Send

log = structlog.get_logger(__name__)

KEEPALIVE_S = 15
SEND_TIMEOUT_S = 30
PIECE_BYTES = 256 << 10
FAREWELL_S = 0.9
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_KEEPALIVE = ServerSentEvent(comment="keepalive", sep="\n")


class _ReaderGoneError(Exception):
    """The reader took nothing of what is sent for too long."""


class EventStream(EventSourceResponse):
    """An event stream that ends when its reader takes nothing for ``SEND_TIMEOUT_S``."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        try:
            await super().__call__(scope, receive, _in_pieces(send))
        except* _ReaderGoneError:
            log.warning("a stream's reader took nothing; its connection is ended", path=scope["path"])


def _in_pieces(send: Send) -> Send:
    """A frame of many megabytes has its time for each piece; a keepalive never comes between two of them."""
    turn = asyncio.Lock()

    async def send_pieces(message: Message) -> None:
        body = message.get("body", b"")
        async with turn:
            if len(body) <= PIECE_BYTES:
                await _send_in_time(send, message)
                return
            for start in range(0, len(body), PIECE_BYTES):
                await _send_in_time(send, {**message, "body": body[start : start + PIECE_BYTES]})

    return send_pieces


async def _send_in_time(send: Send, message: Message) -> None:
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await send(message)
    except TimeoutError:
        raise _ReaderGoneError from None


def respond(frames: AsyncIterator[bytes]) -> EventSourceResponse:
    """Serve pre-encoded frames as an event stream."""
    return EventStream(
        frames,
        ping=KEEPALIVE_S,
        ping_message_factory=lambda: _KEEPALIVE,
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
