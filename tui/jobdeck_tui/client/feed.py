"""The feed over all jobs: one connection kept up for ever, its frames as typed items.

The cursor of the last ``jobs`` frame is kept over a reconnect, so that nothing that changed meanwhile is
missed; where the server does not know the cursor any more the feed starts anew and says so.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from httpx_sse import ServerSentEvent

from . import decode, models
from .api import OPS, Api
from .drills import Drill, read_drill
from .errors import ClientError, Denied, NotReachable, Refused
from .fields import Fields, Unreadable, parse
from .sse import Backoff, sse_events

SILENCE_SECONDS = 6.0
"""The overview comes each second; a feed silent for this long is given up and opened again."""
DENIED_RETRY_SECONDS = 10.0


CURSOR_UNKNOWN = (410, 422)
"""A server's answer to a cursor that is none of its own."""


class Connected(NamedTuple):
    """The feed is open; ``resumed`` means that changes since the last cursor follow by themselves.

    ``replaced``: they cannot, for what answers now has other records than before.
    """

    resumed: bool
    replaced: bool = False


class OverviewSeen(NamedTuple):
    """A fresh snapshot of the whole."""

    overview: models.Overview


class JobsChanged(NamedTuple):
    """The newest rows of the jobs that changed; ``unreadable`` of them could not be decoded."""

    jobs: tuple[models.Job, ...]
    unreadable: int


class JobsGone(NamedTuple):
    """Jobs that were pruned, by id."""

    job_ids: tuple[str, ...]


class EventsSeen(NamedTuple):
    """Stored events of some jobs as they came, JSON. There can be thousands a second, and few are looked at."""

    texts: Sequence[str]


class ActSeen(NamedTuple):
    """Somebody acted."""

    row: models.AuditRow


class DrillChanged(NamedTuple):
    """A drill, whole, after a change."""

    drill: Drill


class FrameUnreadable(NamedTuple):
    """A frame that could not be decoded was skipped."""

    kind: str


class Lost(NamedTuple):
    """The feed ended or could not be opened; the next attempt begins in ``retry_in`` seconds.

    ``denied`` is set where the server denied access.
    """

    reason: str
    retry_in: float
    denied: Denied | None = None


FeedItem = (
    Connected
    | OverviewSeen
    | JobsChanged
    | JobsGone
    | EventsSeen
    | ActSeen
    | DrillChanged
    | FrameUnreadable
    | Lost
)


class Feed:
    """Reads ``/v1/ops/events/stream``; iterate ``items()``, cancel the task to stop."""

    def __init__(self, api: Api, *, events: bool = False, silence_seconds: float = SILENCE_SECONDS) -> None:
        self._api = api
        self._silence_seconds = silence_seconds
        self._events = events
        self.cursor: str | None = None
        self._replaced = False
        self._backoff = Backoff()

    async def items(self) -> AsyncIterator[FeedItem]:
        """Give what happens, for ever, reconnecting by itself."""
        while True:
            try:
                async for item in self._connection():
                    yield item
                lost = Lost("the server closed the feed", self._backoff.wait_seconds())
            except Denied as error:
                lost = Lost(error.message, DENIED_RETRY_SECONDS, error)
            except Refused as error:
                if self.cursor is not None and error.status in CURSOR_UNKNOWN:
                    self.cursor, self._replaced = None, True
                    continue
                self.cursor = None
                lost = Lost(error.message, self._backoff.wait_seconds())
            except ClientError as error:
                lost = Lost(error.message, self._backoff.wait_seconds())
            yield lost
            await asyncio.sleep(lost.retry_in)

    async def _connection(self) -> AsyncIterator[FeedItem]:
        params: dict[str, str | bool] = {"events": "true" if self._events else "false"}
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self.cursor is not None:
            headers["Last-Event-ID"] = self.cursor
        async with self._api.http.stream(
            f"{OPS}/events/stream", params=params, headers=headers, read_seconds=self._silence_seconds
        ) as response:
            yield Connected(resumed=self.cursor is not None, replaced=self._replaced)
            self._replaced = False
            async for frame in sse_events(response):
                self._backoff.reset()
                if frame.event == "job.shutdown":
                    raise NotReachable("The server is shutting down.")
                if frame.event == "events":
                    yield EventsSeen(frame.data.split("\n"))
                else:
                    for item in _items(frame):
                        yield item
                # Only after the rows were taken: a reader that stops in between gets them again.
                if frame.event == "jobs" and frame.id:
                    self.cursor = frame.id


def _items(frame: ServerSentEvent) -> Iterator[FeedItem]:
    try:
        data = parse(frame.data)
        match frame.event:
            case "overview":
                yield OverviewSeen(decode.overview(data))
            case "jobs":
                for rows, unreadable in decode.jobs(data):
                    yield JobsChanged(rows, unreadable)
            case "gone":
                yield JobsGone(Fields(data).texts("jobs"))
            case "act":
                yield ActSeen(decode.audit_row(data))
            case "drill":
                yield DrillChanged(read_drill(data))
    except Unreadable:
        yield FrameUnreadable(frame.event)
