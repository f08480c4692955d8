"""What the Dask scheduler itself says, in one cheap call: task states of our keys, workers, its identity.

The plugin runs inside the scheduler; ``read`` is how the backend asks. Everything that touches scheduler
internals is here, pinned to the version in ``pyproject.toml`` and held by a test.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from distributed import Client
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

HANDLER = "jobdeck_snapshot"
DRAIN_HANDLER = "jobdeck_drain"
UNDRAIN_HANDLER = "jobdeck_undrain"
# Not ``paused``: a worker with a memory limit ends that by itself as soon as it has memory.
DRAINED = Status.closing_gracefully
KEY_PREFIX = "job"


@dataclass(frozen=True, slots=True)
class DaskWorker:
    """One worker as its scheduler sees it; ``last_seen_age`` in seconds."""

    name: str
    address: str
    pid: int | None
    threads: int
    executing: int
    ready: int
    memory_bytes: int
    last_seen_age: float
    processing: int = 0
    """Tasks the scheduler gave it that are not finished."""
    status: str = "running"
    """Dask's word for it; ``paused`` where it ran short of memory."""

    problem: str | None = None
    """Why it gets no jobs: it could not run them."""

    @property
    def takes_work(self) -> bool:
        """Whether Dask may give it something new."""
        return self.status == Status.running.name

    @property
    def is_drained(self) -> bool:
        """Whether it was told to take nothing new."""
        return self.status == DRAINED.name


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Dask's picture at one moment. ``jobs`` maps job id → Dask state of its newest key."""

    scheduler_id: str
    read_at: float
    tasks: dict[str, int]
    workers: tuple[DaskWorker, ...]
    jobs: dict[str, str]

    @property
    def drained(self) -> tuple[str, ...]:
        """The names of the workers that were told to take nothing new."""
        return tuple(worker.name for worker in self.workers if worker.is_drained)

    @property
    def all_drained(self) -> tuple[str, ...]:
        """The names of all workers, where every one of them is drained."""
        names = self.drained
        return names if len(names) == len(self.workers) else ()

    @property
    def slots(self) -> int:
        """Threads that take work now; of a drained worker those that still have some."""
        return sum(
            worker.threads if worker.takes_work else min(worker.threads, worker.processing)
            for worker in self.workers
            if worker.problem is None
        )

    @property
    def only_on(self) -> frozenset[str] | None:
        """Addresses of the workers that jobs may go to; None where that is all of them."""
        fit = frozenset(worker.address for worker in self.workers if worker.problem is None)
        return fit if len(fit) < len(self.workers) else None


class SnapshotPlugin(SchedulerPlugin):
    """Adds the ``jobdeck_snapshot`` call to a scheduler, O(our keys + workers).

    And the calls that drain a worker and take it back.
    """

    name = "jobdeck-snapshot"

    async def start(self, scheduler: Any) -> None:
        """Called by distributed when the plugin is registered."""
        scheduler.handlers[HANDLER] = lambda: _describe(scheduler)
        scheduler.handlers[DRAIN_HANDLER] = lambda worker: _drain(scheduler, worker)
        scheduler.handlers[UNDRAIN_HANDLER] = lambda worker: _undrain(scheduler, worker)


def _describe(scheduler: Any) -> dict[str, Any]:
    now = time.time()
    states = {"waiting": 0, "queued": 0, "no-worker": 0, "processing": 0, "memory": 0, "erred": 0}
    jobs: dict[str, str] = {}
    for key, task in scheduler.tasks.items():
        if task.state in states:
            states[task.state] += 1
        if isinstance(key, tuple) and key[0] == KEY_PREFIX:
            jobs[key[1]] = task.state
    workers = []
    for worker in scheduler.workers.values():
        counts = worker.metrics.get("task_counts", {})
        workers.append(
            {
                "name": str(worker.name),
                "address": worker.address,
                "pid": worker.extra.get("pid"),
                "threads": worker.nthreads,
                "executing": counts.get("executing", 0),
                "ready": counts.get("ready", 0),
                "memory_bytes": worker.metrics.get("memory", 0),
                "last_seen_age": max(0.0, now - worker.last_seen),
                "processing": len(worker.processing),
                "status": worker.status.name,
            }
        )
    return {"id": scheduler.id, "tasks": states, "jobs": jobs, "workers": workers}


def _drain(scheduler: Any, name: str) -> dict[str, Any]:
    """Dask gives the worker nothing more, what it executes goes on; the worker is told, too.

    It is the first half of retiring it. The second one would run its tasks again elsewhere while their threads go
    on here.
    """
    worker = _find(scheduler, name)
    if worker is None:
        return {"jobs": None}
    _set_status(scheduler, worker, DRAINED)
    keys = [task.key for task in worker.processing]
    return {"jobs": [key[1] for key in keys if isinstance(key, tuple) and key[0] == KEY_PREFIX]}


def _undrain(scheduler: Any, name: str) -> dict[str, Any]:
    """A drained worker is given work again; one that is short of memory says so itself, and stays as it is."""
    worker = _find(scheduler, name)
    if worker is None:
        return {"status": None}
    before = worker.status
    if before == DRAINED:
        _set_status(scheduler, worker, Status.running)
    return {"status": before.name}


def _find(scheduler: Any, name: str) -> Any:
    return next((one for one in scheduler.workers.values() if str(one.name) == name), None)


def _set_status(scheduler: Any, worker: Any, status: Status) -> None:
    """The scheduler first: what it decides from now on, it decides by this; then the worker."""
    stimulus = f"jobdeck-{status.name}-{time.time()}"
    scheduler.handle_worker_status_change(status, worker, stimulus)
    told = {"op": "worker-status-change", "status": status.name, "stimulus_id": stimulus}
    scheduler.stream_comms[worker.address].send(told)


async def drain(client: Client, worker: str, timeout_s: float) -> list[str] | None:
    """Let a worker take nothing new; answers the jobs whose keys it has, None when Dask does not know it.

    Raises ``TimeoutError`` or ``OSError`` when the scheduler does not answer.
    """
    answer = await asyncio.wait_for(getattr(client.scheduler, DRAIN_HANDLER)(worker=worker), timeout_s)
    if answer is None:
        raise OSError("the scheduler lacks jobdeck's plugin")
    held: list[str] | None = answer["jobs"]
    return held


async def undrain(client: Client, worker: str, timeout_s: float) -> str | None:
    """Let a drained worker take work again; answers Dask's word for its state before, None when unknown.

    Raises ``TimeoutError`` or ``OSError`` when the scheduler does not answer.
    """
    answer = await asyncio.wait_for(getattr(client.scheduler, UNDRAIN_HANDLER)(worker=worker), timeout_s)
    if answer is None:
        raise OSError("the scheduler lacks jobdeck's plugin")
    status: str | None = answer["status"]
    return status


async def read(client: Client, read_at: float, timeout_s: float) -> Snapshot:
    """Ask the scheduler. Raises ``TimeoutError`` or ``OSError`` when it does not answer."""
    answer = await asyncio.wait_for(getattr(client.scheduler, HANDLER)(), timeout_s)
    if answer is None:
        raise OSError("the scheduler lacks jobdeck's plugin")
    return Snapshot(
        scheduler_id=answer["id"],
        read_at=read_at,
        tasks=answer["tasks"],
        workers=tuple(DaskWorker(**worker) for worker in answer["workers"]),
        jobs=answer["jobs"],
    )
