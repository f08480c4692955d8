"""One job's event stream (R26–R30): replay without limit, then live, the terminal status last."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool

from jobdeck_backend.api.event_stream import control, farewell
from jobdeck_backend.commands.transition import load
from jobdeck_backend.errors import JobNotFound
from jobdeck_backend.jobs.records import Admission, Job, Status, StoredEvent
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tailer import Batch, Subscription, Tailer

PAGE = 1_000
# What the peers' clients are told of the time of replay.
POLL_S = 0.005
ID_DIGITS_MAX = 18
# Reads of the log at a time. Rows come one by one: threads that read beside each other spend their time on handing
# the interpreter over, a hundred readers of 2,000 events 16 seconds in place of one.
READS_AT_ONCE = 1
# How often a stream looks whether a cancel that nobody acknowledges was given up.
SETTLE_LOOK_S = 0.25


@dataclass(frozen=True)
class Streaming:
    """What every stream needs: the log, the tailer, and the word that the server stops."""

    database: Database
    tailer: Tailer
    stopping: asyncio.Event
    reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READS_AT_ONCE))
    """Who waits here reads the log next."""

    async def read(self, job_id: str, cursor: int) -> tuple[Admission, Job, list[StoredEvent], bool]:
        """The records, the next page and whether there may be more, in one snapshot.

        A terminal record means its events are in the last page.
        """
        async with self.reads:
            return await run_in_threadpool(_read, self.database, job_id, cursor)


def place_of(last_event_id: str) -> int | None:
    """The place in the log that a client names, None when it cannot be one."""
    digits = last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= ID_DIGITS_MAX
    return int(last_event_id) if digits else None


def stored(event: StoredEvent) -> bytes:
    """A stored event's frame."""
    return f"id: {event.seq}\nevent: {event.type}\ndata: {event.payload}\n\n".encode()


def status_frame(admission: Admission, job: Job, *, reconnected: bool = False) -> bytes:
    """The ``job.status`` of a job as it is on record now."""
    payload: dict[str, object] = {"status": job.status}
    if job.error:
        payload["error"] = job.error
    if admission.outcome:
        payload["outcome"] = admission.outcome
    if reconnected:
        payload["reconnected"] = True
    return control("job.status", payload)


def is_settled(job: Job) -> bool:
    """Terminal for good: a cancel, if there was one, was acknowledged or its worker lost the right to write."""
    if not job.status.terminal:
        return False
    acknowledged = job.cancel_acknowledged_at is not None or job.revoked_at is not None
    return job.cancel_requested_at is None or acknowledged


@dataclass
class Place:
    """How far a stream has come."""

    cursor: int
    """The sequence number of the last event sent."""
    mode: Mapping[str, object] | None = None
    """The ``stream.mode`` last told."""
    announced: bool = False
    """Whether the replay is over: from here on each change of status is told after its event."""
    ended: bool = False
    """Whether a terminal status came since: what follows it is read from the log."""

    def frames(self, events_: Iterable[StoredEvent]) -> bytes:
        """The frames of the next events of the log."""
        frames = []
        for event in events_:
            self.cursor = event.seq
            frames.append(stored(event))
            if self.announced and event.status is not None:
                if Status(event.status).terminal:
                    self.ended = True
                else:
                    frames.append(control("job.status", {"status": event.status}))
        return b"".join(frames)

    def follow(self, batch: Batch) -> bytes:
        """The frames of those events that follow: encoded once, and the same bytes for all who are as far."""
        if batch.frames is not None and batch.events[0].seq == self.cursor + 1:
            self.cursor = batch.events[-1].seq
            self.ended = self.ended or batch.has_end
            return batch.frames
        unseen = [event for event in batch.events if event.seq > self.cursor]  # the replay had the others
        following = [event for number, event in enumerate(unseen, self.cursor + 1) if event.seq == number]
        frames = self.frames(following)
        if len(following) == len(batch.events):
            batch.frames = frames
        return frames


async def job_frames(streaming: Streaming, job_id: str, cursor: int) -> AsyncIterator[bytes]:
    """The frames of one job's stream after ``cursor``. The job must exist; if it is pruned meanwhile, they end.

    A cursor beyond the log's end counts as its end: what is not written yet, nobody has seen (R27).
    """
    yield control("stream.mode", {"mode": "polling", "interval_ms": round(POLL_S * 1000)})
    try:
        async for chunk in _frames(streaming, job_id, cursor):
            yield chunk
    except JobNotFound:
        return
    except DBAPIError:
        yield control("job.error", {"error": "the event log cannot be read just now; reconnect to go on"})


async def _frames(streaming: Streaming, job_id: str, cursor: int) -> AsyncIterator[bytes]:
    place, reconnected = Place(cursor), cursor > 0
    with streaming.tailer.subscribe(job_id) as subscription:
        while not subscription.dropped:
            if streaming.stopping.is_set():
                yield farewell()
                return
            admission, job, page, more = await streaming.read(job_id, place.cursor)
            place.cursor = min(place.cursor, job.event_seq)
            if page:
                yield place.frames(page)
            if more:
                continue
            if not place.announced:
                place.mode = streaming.tailer.mode
                yield control("stream.mode", place.mode)
            if is_settled(job):
                yield status_frame(admission, job, reconnected=reconnected)
                return
            if not place.announced:
                yield status_frame(admission, job, reconnected=reconnected)
                place.announced = True
            if job.status.terminal:
                await _arrival(subscription, SETTLE_LOOK_S)
            else:
                async for chunk in _live(streaming, subscription, place):
                    yield chunk


async def _arrival(subscription: Subscription, timeout_s: float) -> None:
    """Until something arrived or the time is over; what arrived is read from the log."""
    with suppress(TimeoutError):
        await asyncio.wait_for(subscription.wait(), timeout_s)
    subscription.take()


def _read(database: Database, job_id: str, cursor: int) -> tuple[Admission, Job, list[StoredEvent], bool]:
    with database.read() as tx:
        admission, job = load(tx, job_id)
        return admission, job, *events.read_page(tx, job_id, cursor, PAGE)


async def _live(streaming: Streaming, subscription: Subscription, place: Place) -> AsyncIterator[bytes]:
    """New events as they are committed, each change of status after its event.

    Ends when the log must be read again: after a terminal status, when behind, or when the server stops.
    """
    place.ended = False
    while True:
        await subscription.wait()
        if streaming.stopping.is_set() or subscription.dropped:
            return
        batches, behind = subscription.take()
        frames = b"".join(map(place.follow, batches))
        if place.mode != streaming.tailer.mode:
            place.mode = streaming.tailer.mode
            frames += control("stream.mode", place.mode)
        if frames:
            yield frames
        last = batches[-1].events[-1].seq if batches else place.cursor
        if behind or place.ended or place.cursor < last:
            return
