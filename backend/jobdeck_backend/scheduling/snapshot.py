"""What the Dask scheduler itself says, in one cheap call: task states of our keys, workers, its identity.

The plugin runs inside the scheduler; ``read`` is how the backend asks. Everything that touches scheduler
internals is here, pinned to the version in ``pyproject.toml`` and held by a test.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from distributed import Client
from distributed.diagnostics.plugin import SchedulerPlugin

HANDLER = "jobdeck_snapshot"
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
    problem: str | None = None
    """Why it gets no jobs: it could not run them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Dask's picture at one moment. ``jobs`` maps job id → Dask state of its newest key."""

    scheduler_id: str
    read_at: float
    tasks: dict[str, int]
    workers: tuple[DaskWorker, ...]
    jobs: dict[str, str]

    @property
    def slots(self) -> int:
        """Threads that exist now and can run jobs."""
        return sum(worker.threads for worker in self.workers if worker.problem is None)

    @property
    def only_on(self) -> frozenset[str] | None:
        """Addresses of the workers that jobs may go to; None where that is all of them."""
        fit = frozenset(worker.address for worker in self.workers if worker.problem is None)
        return fit if len(fit) < len(self.workers) else None


class SnapshotPlugin(SchedulerPlugin):
    """Adds the ``jobdeck_snapshot`` call to a scheduler. O(our keys + workers)."""

    name = "jobdeck-snapshot"

    async def start(self, scheduler: Any) -> None:
        """Called by distributed when the plugin is registered."""
        scheduler.handlers[HANDLER] = lambda: _describe(scheduler)


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
            }
        )
    return {"id": scheduler.id, "tasks": states, "jobs": jobs, "workers": workers}


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
