"""Server-sent events from a response, bounded in size, and the pause between two attempts to connect."""

import random
from collections.abc import AsyncIterator
from typing import cast

import httpx
from httpx_sse import EventSource, ServerSentEvent, SSEError

from .errors import NotUnderstood

EVENT_CHARACTERS_MAX = 32 << 20
RETRY_FIRST_SECONDS = 0.25
RETRY_MAX_SECONDS = 5.0


class _Bounded:
    """A response that refuses to buffer an event without end (a line is only complete at its newline)."""

    def __init__(self, response: httpx.Response, limit: int) -> None:
        self.headers = response.headers
        self._response = response
        self._limit = limit

    async def aiter_text(self) -> AsyncIterator[str]:
        held = 0
        async for text in self._response.aiter_text():
            boundary = max(text.rfind("\n\n"), text.rfind("\r\n\r\n"))
            held = len(text) - boundary if boundary >= 0 else held + len(text)
            if held > self._limit:
                raise NotUnderstood(f"An event larger than {self._limit} characters was refused.")
            yield text


async def sse_events(
    response: httpx.Response, limit: int = EVENT_CHARACTERS_MAX
) -> AsyncIterator[ServerSentEvent]:
    """Give the events of a stream as they come, without those that have no data (an id or a retry alone).

    Raises:
        NotUnderstood: the response is no event stream, or an event is larger than ``limit`` characters.
        httpx.HTTPError: the connection broke.
    """
    source = EventSource(cast(httpx.Response, _Bounded(response, limit)))
    try:
        async for event in source.aiter_sse():
            if event.data:
                yield event
    except SSEError as error:
        raise NotUnderstood("The server's answer is not an event stream.") from error


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
