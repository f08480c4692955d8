"""Keeps Dask fed: its slots plus a window of jobs, the most urgent first. The queue's truth stays in SQL.

Where other backends on this database have clusters of their own there is no window: what waits for this one's
slots could run on theirs.
"""

import math
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from uuid import uuid4

import structlog
from dask._expr import LLGExpr
from dask._task_spec import Task
from distributed import Client, Future
from distributed.spans import SpanMetadata

from jobdeck_backend import __version__
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery
from jobdeck_backend.faults import FaultPoint, reached
from jobdeck_backend.jobs.records import Delivery, Status, StoredEvent
from jobdeck_backend.loops import Loop
from jobdeck_backend.scheduling.snapshot import KEY_PREFIX, Snapshot
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.scheduling.task import portable_run_job, run_job
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.writer import Writer
from jobdeck_backend.workflows import registry

log = structlog.get_logger(__name__)

INTERVAL_S = 1.0
PAUSE_S = 0.005
REST_S = 0.5
WINDOWLESS_INTERVAL_S = 0.05
"""A slot that falls free is to be seen soon where nothing waits for it in Dask."""
NEW_MAX = 500
SPENT_MAX = 16

Key = tuple[str, str, int]


@dataclass(slots=True)
class Handed:
    """A job as it was handed to Dask. ``position`` is the log's end then: earlier events tell nothing of it."""

    future: Future[None]
    position: int
    dependent: bool
    started: bool = False


class Dispatcher(Loop):
    """One pass: let go of finished futures, mark what goes next, hand it over."""

    def __init__(
        self, settings: Settings, writer: Writer, cluster: Cluster, has_rivals: Callable[[], bool]
    ) -> None:
        """``has_rivals``: whether the jobs could run on other backends' clusters, too."""
        super().__init__(INTERVAL_S, PAUSE_S)
        self._settings = settings
        self._writer = writer
        self._cluster = cluster
        self._handed: dict[str, Handed] = {}
        self._spent: dict[str, Handed] = {}
        self._short_of_room = False
        self._new: set[str] = set()
        self._anything = True
        self._looked_at = -math.inf
        # From anywhere: another backend's keys on the same scheduler must be others.
        self._deliveries = count(secrets.randbits(48))
        self._has_rivals = has_rivals
        self._only_on: frozenset[str] | None = None
        self._window = settings.dispatch_window
        self._rests_until = -math.inf
        self._run_job = run_job if cluster.embedded else portable_run_job()
        # Own workers have what their server has.
        self._workflows = () if cluster.embedded else registry.authored()

    def forget_all(self) -> None:
        """The epoch is over: its futures mean nothing any more."""
        self._handed.clear()
        self._spent.clear()
        self._anything = True

    def wake(self) -> None:
        """Look now: any job of the backlog may have become one that can go."""
        self._anything = True
        super().wake()

    def give_again(self, job_ids: Iterable[str]) -> None:
        """These jobs are back in the backlog: their old keys mean nothing any more."""
        for job_id in job_ids:
            self._handed.pop(job_id, None)
        self.wake()

    def hear(self, new: Iterable[StoredEvent]) -> None:
        """A change of status is a hint: something waits or, if that matters, there is room again.

        A job that ended before any worker started it is dropped from Dask. One that runs keeps its key until its
        thread is done: without it Dask would take the slot for free.
        """
        changed = False
        for event in new:
            if event.status is None:
                continue
            changed = changed or event.status == Status.SUBMITTED or self._short_of_room
            if event.status == Status.SUBMITTED:
                self._new.add(event.job_id)
                self._spent.pop(event.job_id, None)  # or the old key would hide that Dask lost the next one
            handed = self._handed.get(event.job_id)
            if handed is None or event.position <= handed.position:
                continue
            if event.status == Status.RUNNING:
                handed.started = True
            elif event.status == Status.SUBMITTED or not handed.started:
                del self._handed[event.job_id]
        if changed:
            super().wake()

    async def run_once(self) -> None:
        """Deliver what there is room for."""
        client, snapshot = self._cluster.client, self._cluster.snapshot
        if self._cluster.state not in {"up", "suspect"} or client is None or snapshot is None:
            return
        await self._let_go()
        await self._restrict(snapshot)
        await self._share(snapshot)
        if now() < self._rests_until:
            return
        window, in_flight = self._window, self._in_flight()
        room = max(0, snapshot.slots + window - in_flight)
        # Refilling in batches costs Dask one graph for many jobs.
        room = room if room >= window // 4 else 0
        only = self._only_new(room)
        if only is not None and not only:
            return  # nothing can go: leave the database's one write lock to the workers
        epoch = self._cluster.epoch
        chosen, position = await self._writer.submit(
            delivery.deliver,
            epoch=epoch,
            room=room,
            pending=frozenset(self._handed),
            urgent_room=max(0, 2 * window - in_flight),
            now=now(),
            only=only,
        )
        self._short_of_room = len(chosen) >= room
        if chosen and self._cluster.client is client:
            self._hand_over(client, chosen, epoch, position)

    def _only_new(self, room: int) -> Collection[str] | None:
        """Which jobs alone can go now, or None: any of the backlog.

        Where the last look left room, all others wait for something: a backlog of a hundred thousand jobs in a
        paused queue is not read again for each new one.
        """
        due = now() >= self._looked_at + INTERVAL_S
        anything = self._anything or due or (self._short_of_room and room > 0) or len(self._new) > NEW_MAX
        new, self._new = self._new, set()
        if not anything:
            return new
        self._anything, self._looked_at = False, now()
        return None

    async def _let_go(self) -> None:
        """Release finished futures, some together: Dask sends messages for each release. Where nobody started the
        job since its claim failed, it goes back to the backlog. A key that a foreign client cancelled is left in
        view first: see ``Agreement``."""
        done = {job_id: handed for job_id, handed in self._handed.items() if handed.future.done()}
        for job_id in done:
            self._spent[job_id] = self._handed.pop(job_id)
        if len(self._spent) >= SPENT_MAX or not self._handed:
            self._spent.clear()
        unstarted = [
            job_id for job_id, handed in done.items() if not handed.started and not handed.future.cancelled()
        ]
        if any(done[job_id].future.status == "error" for job_id in unstarted):
            # Some worker cannot run jobs: which one is found out meanwhile.
            self._rests_until = now() + REST_S
        if unstarted:
            self._anything = True
            await self._writer.submit(delivery.take_back, unstarted)

    async def _restrict(self, snapshot: Snapshot) -> None:
        """Other workers may be given jobs than before: what waits for the former ones is handed over again."""
        only_on = snapshot.only_on
        # Dask keeps nothing back that may go to some workers only: then there is no window beyond the slots.
        self._window = self._settings.dispatch_window if only_on is None and not self._has_rivals() else 0
        self.interval_s = INTERVAL_S if self._window else WINDOWLESS_INTERVAL_S
        if only_on == self._only_on:
            return
        self._only_on, self._anything = only_on, True
        await self._take_back([one for one in self._unstarted() if snapshot.jobs.get(one) != "processing"])

    async def _share(self, snapshot: Snapshot) -> None:
        """What waits in Dask from before others came, they could run: the least urgent goes back to the backlog.

        Not what Dask gave to a worker: it may have begun, and without its key Dask would take the slot for free.
        """
        surplus = self._in_flight() - snapshot.slots
        if surplus > 0 and self._has_rivals():
            waiting = [one for one in self._unstarted() if snapshot.jobs.get(one) == "queued"]
            await self._take_back(waiting[-surplus:])

    def _in_flight(self) -> int:
        return sum(not handed.dependent for handed in self._handed.values())

    def _unstarted(self) -> list[str]:
        return [job_id for job_id, handed in self._handed.items() if not handed.started]

    async def _take_back(self, job_ids: Sequence[str]) -> None:
        for job_id in job_ids:
            del self._handed[job_id]
        if job_ids:
            await self._writer.submit(delivery.take_back, job_ids)

    def _hand_over(self, client: Client, chosen: Sequence[Delivery], epoch: int, position: int) -> None:
        for one in chosen:
            reached(FaultPoint.DELIVERED, one.job_id)
        for group in _batches(chosen):
            tasks: dict[Key, Task] = {}
            for one in group:
                key = (KEY_PREFIX, one.job_id, next(self._deliveries))
                waits_for = [
                    self._handed[other].future for other in one.predecessors if other in self._handed
                ]
                arguments = (one.job_id, one.fence, epoch, __version__, self._workflows)
                tasks[key] = Task(key, self._run_job, *arguments, *waits_for, _data_producer=True)
            futures = _submit(client, tasks, _dask_priority(group[0]), self._only_on)
            for one, key in zip(group, tasks, strict=True):
                self._handed[one.job_id] = Handed(futures[key], position, bool(one.predecessors))
                reached(FaultPoint.HANDED_OVER, one.job_id)


def _batches(chosen: Sequence[Delivery]) -> Iterator[Sequence[Delivery]]:
    """One graph for all that share a priority (its own order breaks ties); then each dependent alone, since
    what it waits for must be handed over before it."""
    by_priority: dict[float, list[Delivery]] = {}
    for one in chosen:
        if not one.predecessors:
            by_priority.setdefault(_dask_priority(one), []).append(one)
    yield from by_priority.values()
    yield from ([one] for one in chosen if one.predecessors)


def _dask_priority(one: Delivery) -> float:
    """Higher runs first: the nearer deadline (to the second), then the job's own priority (±1000)."""
    return -math.floor(one.dispatch_deadline) + one.priority / 2001


def _submit(
    client: Client, tasks: dict[Key, Task], priority: float, only_on: frozenset[str] | None
) -> dict[Key, Future[None]]:
    """``client.get`` without waiting, with a priority and with tasks that are truly queued.

    ``_data_producer`` makes the scheduler hold ready tasks back for a free slot, whatever their number; no
    public call of this version passes it on together with a priority.
    """
    keys = list(tasks)
    return client._graph_to_futures(  # type: ignore[no-any-return]
        LLGExpr(tasks, _determ_token=uuid4().hex),
        keys,
        workers=None if only_on is None else sorted(only_on),
        internal_priority={key: position for position, key in enumerate(keys)},
        user_priority=priority,
        fifo_timeout="100 ms",
        actors=False,
        span_metadata=SpanMetadata(collections=[{"type": "Future"}]),
    )
