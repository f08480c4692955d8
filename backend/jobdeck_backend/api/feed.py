"""The feed over all jobs: one maker of frames for every deck.

A job's newest row is sent when something was written about it, and when what Dask or the forecast says of it
changed, which leaves nothing in the log. Rows are read and handed out under one lock, so that no subscriber ever
sees an older row after a newer one.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from jobdeck_backend.api import shapes
from jobdeck_backend.api.board import Picture
from jobdeck_backend.api.event_stream import control, farewell
from jobdeck_backend.api.feed_cursor import FeedCursor
from jobdeck_backend.api.overview import Overview
from jobdeck_backend.api.subscription import Subscription
from jobdeck_backend.api.unlogged import UnloggedChanges
from jobdeck_backend.clock import now
from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.loops import Loop
from jobdeck_backend.store import audit, epochs, places

INTERVAL_S = 0.25
"""How often Dask's picture is compared with the last one."""
OVERVIEW_S = 1.0
COALESCE_S = 0.05
ROWS_A_FRAME = 500
ACTS_A_READ = 500

_NO_ROW_CHANGES = frozenset({"llm.chunk", "job.heartbeat"})


class Feed(Loop):
    """One pass: the overview when it is due, the rows that changed, the acts that came."""

    def __init__(self, overview: Overview) -> None:
        super().__init__(INTERVAL_S)
        self._overview = overview
        self._board = overview.board
        self._database = overview.database
        self._subscriptions: set[Subscription] = set()
        self._lock = asyncio.Lock()
        self._watching = False
        self._ended = False
        self._changed: set[str] = set()
        self._unlogged = UnloggedChanges()
        self._last_act = 0
        self._mark = ""
        """Of the history that is told of; empty until an epoch has begun."""
        self._overview_due = 0.0
        self.dropped = 0
        """Subscribers that were too slow, since the start."""

    def overview(self, max_age_s: float = 0.0) -> dict[str, Any]:
        """The snapshot of the whole, its counts at most so old; from a thread."""
        return self._overview.describe(len(self._subscriptions), self.dropped, max_age_s=max_age_s)

    # What others tell.

    def hear(self, new: Sequence[StoredEvent]) -> None:
        """New events of any job, from the tailer."""
        if not self._watching:
            return
        self._changed.update(event.job_id for event in new if event.type not in _NO_ROW_CHANGES)
        listeners = [one for one in self._subscriptions if one.wants_events]
        if listeners:
            told = [shapes.event(event) for event in new if event.type != "llm.chunk"]
            if told:
                # One frame for all that came together, each on a line of its own.
                lines = b"".join(b"data: " + data + b"\n" for data in told)
                self._push(listeners, b"event: events\n" + lines + b"\n")
        if self._changed:
            self.wake()

    def cluster_changed(self) -> None:
        """The scheduler's state is another one: every deck is told at once."""
        self._overview_due = 0.0
        self.wake()

    def publish_drill(self, drill: Mapping[str, Any]) -> None:
        """A drill, whole, after a change."""
        self._push(self._subscriptions, control("drill", drill))

    @property
    def subscribers(self) -> int:
        """How many feeds are open."""
        return len(self._subscriptions)

    def drop_all(self) -> None:
        """End every feed without a farewell, as a broken network does."""
        for subscription in self._subscriptions:
            subscription.end()

    def publish_gone(self, job_ids: Sequence[str]) -> None:
        """Jobs that were pruned."""
        self._push(self._subscriptions, control("gone", {"jobs": list(job_ids)}))

    def end_all(self) -> None:
        """The server stops."""
        self._ended = True
        for subscription in list(self._subscriptions):
            _say_farewell(subscription)

    # Subscribers.

    async def frames(self, *, after: str | None, wants_events: bool) -> AsyncIterator[bytes]:
        """All frames for one deck: the overview, with ``after`` what it missed, then what happens."""
        subscription = Subscription(wants_events=wants_events)
        try:
            await self._join(subscription, after)
            async for chunk in subscription.chunks():
                yield chunk
        finally:
            self._subscriptions.discard(subscription)

    async def check_cursor(self, cursor: str) -> None:
        """Raises ``InvalidInput`` for a cursor that this log never gave."""
        if await asyncio.to_thread(self._exists, cursor):
            return
        raise InvalidInput("this cursor is not one of this server; open the feed without it")

    async def _join(self, subscription: Subscription, after: str | None) -> None:
        async with self._lock:
            if not self._watching:
                await self._begin()
            if not self._mark:
                self._mark = await asyncio.to_thread(self._newest_mark)
            subscription.push(control("overview", await asyncio.to_thread(self.overview, OVERVIEW_S / 2)))
            self._subscriptions.add(subscription)
            if after is not None:
                place, job_ids = await asyncio.to_thread(self._missed, after)
                await self._send_rows([subscription], job_ids, place)
            if self._ended:
                _say_farewell(subscription)

    async def _begin(self) -> None:
        """The first deck: what happened while nobody watched is not news."""
        self._watching = True
        self._unlogged = UnloggedChanges()
        self._last_act = await asyncio.to_thread(self._newest_act)
        self._look(await asyncio.to_thread(self._board.picture))
        self._changed.clear()

    def _newest_act(self) -> int:
        with self._database.read() as tx:
            return audit.last_id(tx)

    def _newest_mark(self) -> str:
        with self._database.read() as tx:
            return epochs.newest_mark(tx)

    def _exists(self, text: str) -> bool:
        cursor = FeedCursor.parse(text)
        with self._database.read() as tx:
            return epochs.has_mark(tx, cursor.mark) and places.exists(tx, cursor.place)

    def _missed(self, after: str) -> tuple[str, list[str]]:
        """The log's end, and the jobs it tells of since ``after``, with all unfinished ones: what Dask and the
        forecast said of those meanwhile is in no log."""
        with self._database.read() as tx:
            told = places.jobs_with_news(tx, FeedCursor.parse(after).place)
            return places.end(tx), [*{*told, *self._board.picture_in(tx, max_age_s=0.0).states}]

    # The pass.

    async def run_once(self) -> None:
        """Send what is due."""
        async with self._lock:
            self._watching = bool(self._subscriptions)
            if not self._watching:
                return
            due = now() >= self._overview_due
            picture = await asyncio.to_thread(self._board.picture, OVERVIEW_S / 2 if due else OVERVIEW_S)
            self._look(picture)
            if due:
                self._overview_due = now() + OVERVIEW_S
                self._push(
                    self._subscriptions,
                    control("overview", await asyncio.to_thread(self.overview, OVERVIEW_S / 2)),
                )
            # At one moment: whatever was handed out up to this place was heard, and is among these jobs.
            place, changed, self._changed = self._overview.tailer.place, self._changed, set()
            try:
                await self._send_rows(self._subscriptions, list(changed), place)
            except Exception:
                self._changed |= changed  # no deck was told of all of them
                raise
            await self._send_acts()
        # Events of the same moment share a frame.
        await asyncio.sleep(COALESCE_S)

    def _look(self, picture: Picture) -> None:
        snapshot = self._overview.cluster.snapshot
        dask_states = snapshot.jobs if snapshot else {}
        self._changed |= self._unlogged.since_last_look(picture, dask_states, now())

    async def _send_rows(
        self, subscriptions: Iterable[Subscription], job_ids: Sequence[str], place: str
    ) -> None:
        for start in range(0, len(job_ids), ROWS_A_FRAME):
            part = job_ids[start : start + ROWS_A_FRAME]
            last = start + ROWS_A_FRAME >= len(job_ids)
            # Only the last frame's cursor says that everything up to it was sent.
            cursor, to_all = place if last else None, subscriptions is self._subscriptions
            frame = await asyncio.to_thread(self._rows_frame, part, cursor, to_all=to_all)
            self._push(subscriptions, frame)

    def _rows_frame(self, job_ids: Sequence[str], place: str | None, *, to_all: bool) -> bytes:
        views, at = self._board.load(job_ids), now()
        if to_all:
            self._unlogged.sent({view.source.job_id: view.state for view in views})
        cursor = b"" if place is None else f"id: {FeedCursor(place, self._mark)}\n".encode()
        return cursor + control("jobs", {"jobs": [shapes.job_row(view, at) for view in views]})

    async def _send_acts(self) -> None:
        """All that came: a pass that left some for the next would fall ever further behind a thousand a second."""
        full = True
        while full:
            rows = await asyncio.to_thread(self._new_acts)
            if rows:
                self._last_act = rows[-1]["id"]
                # Handed over together: a thousand frames at once would be half of what a deck may leave waiting.
                told = b"".join(control("act", shapes.audit_row(row)) for row in rows)
                self._push(self._subscriptions, told)
            full = len(rows) == ACTS_A_READ

    def _new_acts(self) -> list[dict[str, Any]]:
        with self._database.read() as tx:
            return audit.read_after(tx, self._last_act, ACTS_A_READ)

    def _push(self, subscriptions: Iterable[Subscription], frame: bytes) -> None:
        for subscription in list(subscriptions):
            if not subscription.over and not subscription.push(frame):
                self.dropped += 1
                self._subscriptions.discard(subscription)


def _say_farewell(subscription: Subscription) -> None:
    subscription.push(farewell())
    subscription.end()
