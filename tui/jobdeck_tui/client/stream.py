"""One job's event stream: in order, without gaps or repeats, over reconnects, to the terminal status."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import quote

from httpx_sse import ServerSentEvent

from jobdeck_tui.text.sanitise import one_line

from . import decode, models
from .api import JOBS, Api
from .errors import ClientError, Denied, NotReachable, NotUnderstood, Refused
from .feed import FrameUnreadable, Lost
from .fields import NOTE_LIMIT, Fields, Unreadable, parse
from .sse import Backoff, sse_events

SILENCE_SECONDS = 40.0
"""The server's keepalive comes after 15 s of silence."""
TERMINAL = frozenset({"success", "failure", "interrupted"})
CONTROL = frozenset({"stream.mode", "job.status", "job.shutdown"})


class EventArrived(NamedTuple):
    """The next stored event of the job."""

    event: models.Event


class StatusSeen(NamedTuple):
    """The job's status now; ``terminal`` means that the stream has ended with it."""

    status: str
    error: str | None
    terminal: bool


class CaughtUp(NamedTuple):
    """Everything stored was received; after a reconnect ``refetched`` events had been missed meanwhile."""

    last_seq: int
    refetched: int
    reconnected: bool


class Gap(NamedTuple):
    """Events ``first`` to ``last`` did not come. They are asked for once more; ``for_good``: that was in vain."""

    first: int
    last: int
    for_good: bool = True


class _Incomplete(Exception):  # noqa: N818
    """The stream went on behind events that did not come."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last


StreamItem = EventArrived | StatusSeen | CaughtUp | Gap | FrameUnreadable | Lost


class JobStream:
    """Follows one job: iterate ``items()``, cancel to stop. ``duplicates`` counts repeats left out."""

    def __init__(self, api: Api, job_id: str, *, after: int = 0) -> None:
        self._api = api
        self.job_id = job_id
        self.last_seq = after
        self.duplicates = 0
        self._backoff = Backoff()
        self._connections = 0
        self._arrived = 0
        self._ended = False
        self._asked_again_after: int | None = None

    async def items(self) -> AsyncIterator[StreamItem]:
        """Give what happens until the terminal status, reconnecting by itself.

        Raises:
            Refused: there is no such job.
            Denied: the server does not accept who we are.
            NotUnderstood: what answers is no jobdeck server; asking again would not make it one.
        """
        while not self._ended:
            try:
                async for item in self._connection():
                    yield item
                reason = "the server closed the stream"
            except _Incomplete as gap:
                yield Gap(self.last_seq + 1, gap.last, for_good=False)
                continue
            except (Denied, NotUnderstood, Refused):
                raise
            except ClientError as error:
                reason = error.message
            if not self._ended:
                lost = Lost(reason, self._backoff.wait_seconds())
                yield lost
                await asyncio.sleep(lost.retry_in)

    async def _connection(self) -> AsyncIterator[StreamItem]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self.last_seq > 0:
            headers["Last-Event-ID"] = str(self.last_seq)
        path = f"{JOBS}/job/{quote(self.job_id, safe='')}/stream"
        async with self._api.http.stream(path, headers=headers, read_seconds=SILENCE_SECONDS) as response:
            self._connections += 1
            self._arrived = 0
            sticky_id = ""
            async for frame in sse_events(response):
                self._backoff.reset()
                # The decoder repeats the last id on frames that have none of their own.
                own_id, sticky_id = frame.id != sticky_id, frame.id
                control = frame.event in CONTROL or (frame.event == "job.error" and not own_id)
                for item in self._control(frame) if control else self._stored(frame):
                    yield item
                if self._ended:
                    return

    def _control(self, frame: ServerSentEvent) -> list[StreamItem]:
        try:
            data = Fields(parse(frame.data))
            if frame.event == "stream.mode":
                if data.text("mode") == "polling":
                    return []
                return [CaughtUp(self.last_seq, self._arrived, self._connections > 1)]
            if frame.event == "job.status":
                status = data.text("status")
                self._ended = status in TERMINAL
                return [StatusSeen(status, data.maybe_text("error", NOTE_LIMIT), self._ended)]
        except Unreadable:
            return [FrameUnreadable(one_line(frame.event, 100))]
        if frame.event == "job.shutdown":
            raise NotReachable("The server is shutting down.")
        if frame.event == "job.error":
            raise NotReachable("The server could not go on with the stream.")
        return []

    def _stored(self, frame: ServerSentEvent) -> list[StreamItem]:
        items: list[StreamItem] = []
        try:
            seq = int(frame.id)
        except ValueError:
            return [FrameUnreadable(one_line(frame.event, 100))]
        if seq <= self.last_seq:
            self.duplicates += 1
            return items
        if seq > self.last_seq + 1:
            if self._asked_again_after != self.last_seq:
                self._asked_again_after = self.last_seq
                raise _Incomplete(seq - 1)
            items.append(Gap(self.last_seq + 1, seq - 1))
        self.last_seq = seq
        self._arrived += 1
        try:
            event = decode.stream_event(self.job_id, seq, frame.event, parse(frame.data))
            items.append(EventArrived(event))
        except Unreadable:
            items.append(FrameUnreadable(one_line(frame.event, 100)))
        return items
