"""One tailer a process: notices commits, reads the log once, feeds every subscriber (R27–R29).

A wake-up is a hint, the table is the truth: a subscriber that fell behind is told so and reads the log from
its own cursor.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from jobdeck_backend.jobs.records import Status, StoredEvent
from jobdeck_backend.loops import Loop
from jobdeck_backend.store import events, places
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.following import IDLE_LOOK_S, follower

BACKLOG_MAX = 2_000
BACKLOG_CHARS_MAX = 8 << 20
# A look at PostgreSQL costs what many notices of commits can share.
PAUSE_S = 0.002


class Batch:
    """New events of one job, in order: the same object for every reader."""

    __slots__ = ("chars", "events", "frames", "has_end")

    def __init__(self) -> None:
        self.events: list[StoredEvent] = []
        self.chars = 0
        self.has_end = False
        """Whether the job ended by one of them."""
        self.frames: bytes | None = None
        """As the first reader encoded them, for the others to send as well."""

    def add(self, event: StoredEvent) -> None:
        """The next one."""
        self.events.append(event)
        self.chars += len(event.payload)
        self.has_end = self.has_end or (event.status is not None and Status(event.status).terminal)


class Subscription:
    """The events of one job as they are committed, for one reader."""

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._count = self._chars = 0
        self._arrived = asyncio.Event()
        self._behind = False
        self.dropped = False
        """The reader's connection is to end here, in the middle of its stream."""

    def push(self, batch: Batch) -> bool:
        """Called by the tailer. False when a reader too slow for its bounds thereby loses its place."""
        self._arrived.set()
        if self._behind:
            return True  # it reads the log anyway
        self._count += len(batch.events)
        self._chars += batch.chars
        # One large batch alone is every reader's at once: only what piles up is nobody else's.
        if self._count > BACKLOG_MAX or (self._batches and self._chars > BACKLOG_CHARS_MAX):
            self._clear()
            self._behind = True
            return False
        self._batches.append(batch)
        return True

    async def wait(self) -> None:
        """Until something arrived, or the tailer ended."""
        await self._arrived.wait()

    def release(self) -> None:
        """Let a waiting reader go on with nothing."""
        self._arrived.set()

    def drop(self) -> None:
        """End the reader's connection, whatever it was sent: it comes again with its cursor."""
        self.dropped = True
        self._arrived.set()

    def take(self) -> tuple[list[Batch], bool]:
        """What arrived, and whether the reader is behind and must read the log from its cursor."""
        self._arrived.clear()
        taken, behind = list(self._batches), self._behind
        self._clear()
        self._behind = False
        return taken, behind

    def _clear(self) -> None:
        self._batches.clear()
        self._count = self._chars = 0


class Tailer(Loop):
    """One pass: look whether somebody committed, and hand out what is new.

    ``wake`` it after a commit of this process.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(IDLE_LOOK_S, PAUSE_S if database.path is None else 0.0)
        self._database = database
        self._follower = follower(database)
        self._told_mode = self._follower.mode
        self._subscriptions: dict[str, set[Subscription]] = defaultdict(set)
        self._listeners: list[Callable[[Sequence[StoredEvent]], None]] = []
        self.place = places.START
        """Behind everything that was handed out."""
        self.position = 0
        """The newest event's that was handed out."""
        self.dropped = 0
        """Readers that fell behind since the start."""

    def start(self) -> None:
        """Begin at the log's present end."""
        with self._database.read() as tx:
            self.place, self.position = places.end(tx), events.last_position(tx)
        self._follower.start(self._woken)
        super().start()

    async def stop(self) -> None:
        """End, and let every waiting reader go."""
        self.release_all()
        await super().stop()
        await self._follower.stop()

    def release_all(self) -> None:
        """Let every waiting reader look up: the server stops."""
        for readers in self._subscriptions.values():
            for subscription in readers:
                subscription.release()

    def drop_all(self) -> None:
        """Drop every reader, as a broken network does: see ``Subscription.drop``."""
        for readers in self._subscriptions.values():
            for subscription in readers:
                subscription.drop()

    def listen(self, listener: Callable[[Sequence[StoredEvent]], None]) -> None:
        """Call ``listener`` with every batch of new events of all jobs, in commit order."""
        self._listeners.append(listener)

    @contextmanager
    def subscribe(self, job_id: str) -> Iterator[Subscription]:
        """Receive one job's new events from now on."""
        subscription = Subscription()
        self._subscriptions[job_id].add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions[job_id].discard(subscription)
            if not self._subscriptions[job_id]:
                del self._subscriptions[job_id]

    @property
    def subscribers(self) -> int:
        """How many streams are fed."""
        return sum(len(readers) for readers in self._subscriptions.values())

    @property
    def mode(self) -> Mapping[str, object]:
        """How commits are noticed just now, as ``stream.mode`` says it."""
        return self._follower.mode

    async def run_once(self) -> None:
        """Hand out everything committed since the last pass."""
        try:
            async for page, place in self._follower.pages(self.place):
                self.place = place
                self._deliver(page)
        except DBAPIError:
            self._follower.disconnect()
            raise
        finally:
            self.interval_s = self._follower.look_s

    def _woken(self) -> None:
        if self.mode != self._told_mode:
            self._told_mode = self.mode
            self.release_all()
        self.wake()

    def _deliver(self, page: list[StoredEvent]) -> None:
        if not page:
            return
        self.position = max(self.position, page[-1].position)
        batches: dict[str, Batch] = defaultdict(Batch)
        for event in page:
            if event.job_id in self._subscriptions:
                batches[event.job_id].add(event)
        for job_id, batch in batches.items():
            for subscription in self._subscriptions[job_id]:
                self.dropped += not subscription.push(batch)
        for listener in self._listeners:
            listener(page)
