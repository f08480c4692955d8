"""The drill of dropped streams: readers of its own, cut off with everybody's, must end with the whole log."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.plural import plural
from jobdeck_backend.recovery.drill_before import Before
from jobdeck_backend.recovery.drill_record import Drill, Step
from jobdeck_backend.recovery.drill_watch import Expectation, Nothing, Watch
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import drills
from jobdeck_backend.store.engine import Database

READERS_MAX = 8
FED_S = 5.0
RECONNECT_S = 0.1
BACK_S = 2.0
OTHERS_BACK_S = 5.0
GOES_ON_S = 10.0


class Streams(Protocol):
    """Every open event stream of this server."""

    @property
    def subscribers(self) -> int:
        """How many are open."""

    def drop_all(self) -> int:
        """End all of them without a farewell; answers how many."""

    def read(self, job_id: str, cursor: int) -> AsyncIterator[int]:
        """One job's stream after ``cursor``, as its events' numbers, until it ends or is dropped."""


@dataclass
class Reader:
    """One reader of the drill: what it was sent, over all its connections."""

    job_id: str
    seen: list[int] = field(default_factory=list)
    connections: int = 0
    seen_at_drop: int = 0
    fed: asyncio.Event = field(default_factory=asyncio.Event)
    """It was sent something: each job has a first event."""

    @property
    def cursor(self) -> int:
        """The last event it has."""
        return self.seen[-1] if self.seen else 0


class Readers:
    """Follow a few unfinished jobs as a client does: from the first event, and again from the cursor."""

    def __init__(self, streams: Streams, before: Before) -> None:
        self.streams = streams
        running = [one.job_id for one in before.attempts]
        followed = list(dict.fromkeys([*running, *before.unfinished]))[:READERS_MAX]
        self.all = [Reader(job_id) for job_id in followed]
        self.others_before = streams.subscribers
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Connect, and answer when each is fed."""
        self._tasks = [asyncio.create_task(self._follow(one), name="drill reader") for one in self.all]
        with suppress(TimeoutError):
            async with asyncio.timeout(FED_S):
                for one in self.all:
                    await one.fed.wait()

    async def stop(self) -> None:
        """Disconnect."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop(self) -> int:
        """Drop every stream of the server; answers how many were others'."""
        for one in self.all:
            one.seen_at_drop = len(one.seen)
        return self.streams.drop_all() - len(self.all)

    async def _follow(self, reader: Reader) -> None:
        while True:
            reader.connections += 1
            async with aclosing(self.streams.read(reader.job_id, reader.cursor)) as numbers:  # type: ignore[type-var]
                async for number in numbers:
                    reader.seen.append(number)
                    reader.fed.set()
            await asyncio.sleep(RECONNECT_S)


class StreamDrop(Watch):
    """Nobody's job is touched; every reader ends with the log, nothing missing, nothing twice."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        cluster: Cluster,
        drill: Drill,
        before: Before,
        readers: Readers,
    ) -> None:
        self._readers = readers
        self._told: Sequence[tuple[str, Sequence[int]]] = ()
        super().__init__(settings, database, cluster, drill, before)

    def _expectations(self) -> list[Expectation]:
        return [
            Expectation("reconnected", BACK_S, self._reconnected, first=True),
            Expectation("others back", None, self._others_back),
            Expectation("went on", None, self._went_on),
        ]

    def _is_hit(self) -> bool:
        return bool(self._readers.all)

    def judge(self) -> None:
        """As every drill; what readers are sent while the log is read is not held against it."""
        self._told = [(one.job_id, tuple(one.seen)) for one in self._readers.all]
        super().judge()

    def _extra_judgement(self, tx: Connection) -> list[Step]:
        last = drills.last_sequences(tx, [job_id for job_id, _seen in self._told])
        missing = twice = 0
        for job_id, seen in self._told:
            # What was committed since its last look is still on its way; up to there it has everything.
            cursor = seen[-1] if seen else 0
            missing += cursor - len(set(seen)) + max(0, cursor - last.get(job_id, 0))
            twice += len(seen) - len(set(seen))
        told = sum(len(seen) for _job_id, seen in self._told)
        return [
            Step(
                "missing",
                f"{plural(missing, 'event')} missing of {told} that the readers were sent",
                None,
                failed=missing > 0,
                judged=told > 0,
            ),
            Step("twice", f"{plural(twice, 'event')} sent twice", None, failed=twice > 0, judged=told > 0),
        ]

    def _reconnected(self, _tx: Connection) -> str | Nothing | None:
        if not self._readers.all:
            return Nothing("no job is unfinished: the drill has nothing to read")
        if any(one.connections < 2 for one in self._readers.all):
            return None
        return f"readers of the drill that are back, each from its cursor: {len(self._readers.all)}"

    def _others_back(self, _tx: Connection) -> str | Nothing | None:
        before = self._readers.others_before
        if not before:
            return Nothing("nobody else was connected")
        back = min(before, max(0, self._readers.streams.subscribers - len(self._readers.all)))
        if back < before and now() < self._drill.started_at + OTHERS_BACK_S:
            return None
        return f"{back} of {before} other connections are back"

    def _went_on(self, tx: Connection) -> str | Nothing | None:
        """Each reader was sent something since, or there was nothing to send."""
        if not self._readers.all:
            return Nothing("nobody reads")
        last = drills.last_sequences(tx, [one.job_id for one in self._readers.all])
        behind = [one for one in self._readers.all if one.cursor < last.get(one.job_id, 0)]
        silent = [one for one in self._readers.all if len(one.seen) == one.seen_at_drop]
        if behind or (silent and now() < self._drill.started_at + GOES_ON_S):
            return None
        on = len(self._readers.all) - len(silent)
        return f"{on} of {len(self._readers.all)} readers were sent more since, all have the whole log"
