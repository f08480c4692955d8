"""One tailer a process: notices commits, reads the log once, feeds every subscriber (R27–R29).

A wake-up is a hint, the table is the truth: a subscriber that fell behind is told so and reads the log from
its own cursor.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.loops import Loop
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database, commit_counter

log = structlog.get_logger(__name__)

BUSY_LOOK_S = 0.005
IDLE_LOOK_S = 0.05
# How long after the last commit the looks stay frequent.
BUSY_FOR_S = 2.0
PAGE = 1_000
BACKLOG_MAX = 2_000


class Subscription:
    """The events of one job as they are committed, for one reader."""

    def __init__(self) -> None:
        self._events: deque[StoredEvent] = deque()
        self._arrived = asyncio.Event()
        self._behind = False
        self.dropped = False
        """The reader's connection is to end here, in the middle of its stream."""

    def push(self, new: Sequence[StoredEvent]) -> bool:
        """Called by the tailer. False when a reader too slow for its bound thereby loses its place."""
        self._arrived.set()
        if self._behind:
            return True  # it reads the log anyway
        if len(self._events) + len(new) > BACKLOG_MAX:
            self._events.clear()
            self._behind = True
            return False
        self._events.extend(new)
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

    def take(self) -> tuple[list[StoredEvent], bool]:
        """What arrived, and whether the reader is behind and must read the log from its cursor."""
        self._arrived.clear()
        taken, behind = list(self._events), self._behind
        self._events.clear()
        self._behind = False
        return taken, behind


class Tailer(Loop):
    """One pass: look whether somebody committed, which costs microseconds, and hand out what is new.

    ``wake`` it after a commit of this process.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(IDLE_LOOK_S)
        self._database = database
        self._connection: Connection | None = None
        self._commits: Callable[[], int] = lambda: 0
        self._seen = -1
        self._subscriptions: dict[str, set[Subscription]] = defaultdict(set)
        self._listeners: list[Callable[[Sequence[StoredEvent]], None]] = []
        self._last_commit = 0.0
        self.position = 0
        self.dropped = 0
        """Readers that fell behind since the start."""

    def start(self) -> None:
        """Begin at the log's present end."""
        with self._database.read() as tx:
            self.position = events.last_position(tx)
        super().start()

    async def stop(self) -> None:
        """End, and let every waiting reader go."""
        self.release_all()
        await super().stop()
        self._disconnect()

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

    async def run_once(self) -> None:
        """Hand out everything committed since the last pass."""
        clock = asyncio.get_running_loop().time
        try:
            connection = self._connected()
            version = self._commits()
            if version != self._seen:
                self._last_commit = clock()
                while self._deliver(page := events.read_feed(connection, self.position, PAGE)):
                    if len(page) < PAGE:
                        break
                    await asyncio.sleep(0)
                connection.rollback()  # ends the snapshot: the next look must see later commits
                self._seen = version
        except DBAPIError as error:
            log.warning("the log could not be read; tried again", error=str(error.orig))
            self._disconnect()
        self.interval_s = BUSY_LOOK_S if clock() - self._last_commit < BUSY_FOR_S else IDLE_LOOK_S

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.open_reader()
            self._commits, self._seen = commit_counter(self._connection), -1
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _deliver(self, page: list[StoredEvent]) -> bool:
        if not page:
            return False
        self.position = page[-1].position
        by_job: dict[str, list[StoredEvent]] = {}
        for event in page:
            if event.job_id in self._subscriptions:
                by_job.setdefault(event.job_id, []).append(event)
        for job_id, new in by_job.items():
            for subscription in self._subscriptions[job_id]:
                self.dropped += not subscription.push(new)
        for listener in self._listeners:
            listener(page)
        return True
