"""How a reader of the log over all jobs learns that somebody committed: each database in its own way (R28, R29).

A follower is asked for what is new behind a place. Whatever woke the asker is a hint, the answer is the truth.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

from sqlalchemy import Connection

from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.sqlite import commit_counter

PAGE = 1_000
BUSY_LOOK_S = 0.003
IDLE_LOOK_S = 0.05
# How long after the last event the looks stay frequent.
BUSY_FOR_S = 2.0

Page = tuple[list[StoredEvent], str]
"""New events, and the place of who has seen them."""


class Follower(Protocol):
    """One reader's way to learn of commits. Its methods raise ``DBAPIError`` when the log cannot be read."""

    @property
    def mode(self) -> Mapping[str, object]:
        """How it learns of them just now, as ``stream.mode`` says it."""

    @property
    def look_s(self) -> float:
        """After how long to look without having been woken."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin; ``wake`` is called, on the event loop's thread, when there may be something new."""

    async def stop(self) -> None:
        """End."""

    def pages(self, place: str) -> AsyncIterator[Page]:
        """What is new behind a place, each job's events in order."""

    def disconnect(self) -> None:
        """Forget a connection that failed."""


def follower(database: Database) -> Follower:
    """The one that suits the database."""
    if database.path is not None:
        return CommitCounter(database)
    from jobdeck_backend.store.listener import Listener

    return Listener(database)


class KeptReader:
    """A connection kept for reading."""

    def __init__(self, database: Database, **options: Any) -> None:
        """``options`` are SQLAlchemy's of its execution."""
        self._database = database
        self._options = options
        self.connection: Connection | None = None

    def connected(self) -> Connection:
        """The connection, opened if there is none."""
        if self.connection is None:
            opened = self._database.open_reader()
            self.connection = opened.execution_options(**self._options)
        return self.connection

    def disconnect(self) -> None:
        """Forget it."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()


class CommitCounter:
    """SQLite's: a look at the file's commit counter takes microseconds, so it is looked at often."""

    mode: Mapping[str, object] = {"mode": "live"}

    def __init__(self, database: Database) -> None:
        self._reader = KeptReader(database)
        self._commits: Callable[[], int] | None = None
        self._seen = -1
        self._last_event = 0.0

    @property
    def look_s(self) -> float:
        """Often while something happens; a lease renewed each second is nothing of interest."""
        lately = asyncio.get_running_loop().time() - self._last_event < BUSY_FOR_S
        return BUSY_LOOK_S if lately else IDLE_LOOK_S

    def start(self, wake: Callable[[], None]) -> None:
        """Nothing wakes: the looks do."""

    async def stop(self) -> None:
        """Close the connection."""
        self.disconnect()

    async def pages(self, place: str) -> AsyncIterator[Page]:
        """Inline: it takes less than a change of thread."""
        connection = self._reader.connected()
        if self._commits is None:
            self._commits, self._seen = commit_counter(connection), -1
        version = self._commits()
        if version == self._seen:
            return
        more = True
        while more:
            page, more = events.read_feed(connection, int(place), PAGE)
            if page:
                self._last_event = asyncio.get_running_loop().time()
                place = str(page[-1].position)
                yield page, place
                await asyncio.sleep(0)
        connection.rollback()  # ends the snapshot: the next look must see later commits
        self._seen = version

    def disconnect(self) -> None:
        """Forget a connection that failed."""
        self._commits = None
        self._reader.disconnect()


def paged(found: list[StoredEvent], before: str, after: str) -> list[Page]:
    """What one snapshot showed, in pages: only who has seen the last one is at the place behind it."""
    pages: list[Any] = [(found[start : start + PAGE], before) for start in range(0, max(1, len(found)), PAGE)]
    return [*pages[:-1], (pages[-1][0], after)]
