"""Server-sent events from a response, bounded in size, and the pause between two attempts to connect.

A feed can carry thousands of events a second: they are cut out of whatever came together, all at once.
"""

import random
from collections.abc import AsyncIterator
from typing import NamedTuple

import httpx

from .errors import NotUnderstood

EVENT_CHARACTERS_MAX = 32 << 20
RETRY_FIRST_SECONDS = 0.25
RETRY_MAX_SECONDS = 5.0
END = "\n\n"


class Frame(NamedTuple):
    """One event as it was sent; ``id`` is empty where it has none of its own."""

    event: str
    data: str
    id: str


async def sse_events(response: httpx.Response, limit: int = EVENT_CHARACTERS_MAX) -> AsyncIterator[Frame]:
    """Give the events of a stream as they come, without those that have no data (an id or a retry alone).

    Raises:
        NotUnderstood: the response is no event stream, or an event is larger than ``limit`` characters.
        httpx.HTTPError: the connection broke.
    """
    if response.headers.get("content-type", "").partition(";")[0].strip() != "text/event-stream":
        raise NotUnderstood("The server's answer is not an event stream.")
    held = ""
    async for text in _with_newlines(response.aiter_text()):
        looked = max(len(held) - 1, 0)
        held += text
        end = held.rfind(END, looked)
        if end >= 0:
            whole, held = held[:end], held[end + len(END) :]
            for block in whole.split(END):
                frame = _frame(block)
                if frame.data:
                    yield frame
        if len(held) > limit:
            raise NotUnderstood(f"An event larger than {limit} characters was refused.")


def _frame(block: str) -> Frame:
    event = own_id = ""
    data: list[str] = []
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            event = value
        elif name == "id":
            own_id = value
    return Frame(event or "message", "\n".join(data), own_id)


async def _with_newlines(texts: AsyncIterator[str]) -> AsyncIterator[str]:
    """Every end of a line as a newline; one may be cut in two."""
    held = ""
    async for came in texts:
        text = held + came
        held = "\r" if text.endswith("\r") else ""
        if "\r" in text:
            text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        yield text


class Backoff:
    """How long to wait before the next attempt: doubling, bounded, with jitter; an event resets it."""

    def __init__(self) -> None:
        self._next = RETRY_FIRST_SECONDS

    def reset(self) -> None:
        """Begin again with the shortest wait."""
        self._next = RETRY_FIRST_SECONDS

    def wait_seconds(self) -> float:
        """Give the wait before the next attempt."""
        wait, self._next = self._next, min(self._next * 2, RETRY_MAX_SECONDS)
        return wait * random.uniform(0.75, 1.25)  # noqa: S311 - spreads reconnects, guards nothing
