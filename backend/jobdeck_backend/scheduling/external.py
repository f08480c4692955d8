"""A Dask cluster that others run: attached to, watched, found again when it comes back.

Its processes are not ours: nothing is ended here. What a lost epoch's workers still do is fenced by the recovery.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import structlog
from distributed import Client
from distributed.security import Security

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.scheduling import fitness
from jobdeck_backend.scheduling import snapshot as dask_snapshot
from jobdeck_backend.scheduling.fitness import Fitness
from jobdeck_backend.scheduling.snapshot import DaskWorker, Snapshot, SnapshotPlugin
from jobdeck_backend.scheduling.supervision import (
    CLIENT_TIMEOUT,
    PROBE_S,
    SETTLED_S,
    Cluster,
    ClusterListener,
)
from jobdeck_backend.settings import Settings
from jobdeck_backend.workflows import registry

log = structlog.get_logger(__name__)

ATTACH_S = 5.0
LOOK_S = 0.1
ASK_AGAIN_S = 15.0
# Dask's name of a connection, another one at each try.
_CONNECTION = re.compile(r"^in <[^>]*>: ")


class ExternalCluster(Cluster):
    """The scheduler at ``settings.scheduler_address`` and whatever workers it has."""

    embedded = False

    def __init__(
        self,
        settings: Settings,
        next_epoch: Callable[[], Awaitable[int]],
        listener: ClusterListener,
        database_id: str,
    ) -> None:
        """``database_id``: the database that workers must use, too."""
        super().__init__(settings, next_epoch, listener)
        assert settings.scheduler_address is not None
        self.address = settings.scheduler_address
        self._database_id = database_id
        self._fitness: dict[str, Fitness] = {}

    def worker_count(self) -> int:
        """Workers that the scheduler has, fit or not."""
        return 0 if self.snapshot is None else len(self.snapshot.workers)

    def is_alive(self, worker: str) -> bool:
        """Whether the scheduler has a worker of that name."""
        return self.snapshot is not None and any(one.name == worker for one in self.snapshot.workers)

    def worker_gone(self, attempt: Attempt) -> str | None:
        """Known only while the scheduler answers: one that it does not list was lost."""
        if self.state != "up" or self.snapshot is None:
            return None
        here = [one for one in self.snapshot.workers if one.name == attempt.worker]
        if any(one.pid in {None, attempt.pid} for one in here):
            return None
        return "worker lost" if attempt.started_at + SETTLED_S < self.snapshot.read_at else None

    async def _bring_up(self) -> None:
        self.client = Client(
            self.address,
            asynchronous=True,
            set_as_default=False,
            timeout=CLIENT_TIMEOUT,
            security=self._security(),
        )
        async with asyncio.timeout(ATTACH_S):
            await self.client  # its own timeout ends when the connection stands, answered or not
        async with asyncio.timeout(ATTACH_S):
            # At each epoch again: a scheduler that was restarted has no plugins.
            await self.client.register_plugin(SnapshotPlugin())
            scheduler: Any = self.client.scheduler
            services = (await scheduler.identity(n_workers=0))["services"]
        self._fitness.clear()
        picture = await dask_snapshot.read(self.client, now(), self._settings.scheduler_lost_s)
        self.dashboard_url = self._dashboard(services)
        self.epoch = await self._next_epoch()
        self.snapshot = self._judged(picture)

    def _security(self) -> Security | None:
        settings = self._settings
        if settings.tls_ca_file is None:
            return None
        return Security(
            tls_ca_file=str(settings.tls_ca_file),
            tls_client_cert=str(settings.tls_cert),
            tls_client_key=str(settings.tls_key),
            require_encryption=True,
        )

    def _dashboard(self, services: dict[str, int]) -> str | None:
        assert self.address is not None
        host = self.address.partition("://")[2].rpartition(":")[0]
        return f"http://{host}:{services['dashboard']}" if "dashboard" in services else None

    def _explain(self, error: Exception) -> str:
        if "jobdeck_backend" in str(error) and isinstance(error, ImportError):
            return f"the scheduler at {self.address} runs without the package jobdeck ({error})"
        wordless = (
            "it does not answer" if isinstance(error, TimeoutError) else "what answers is no Dask scheduler"
        )
        said = _CONNECTION.sub("", str(error)) or wordless
        return f"no scheduler can be used at {self.address} ({said})"

    def _duties(self) -> Sequence[Coroutine[Any, Any, str]]:
        return self._await_disconnect(), self._examine_newcomers()

    async def _await_disconnect(self) -> str:
        """A broken connection is a loss: the scheduler forgets what a client that left had given it."""
        while self.client is not None and self.client.status == "running":  # noqa: ASYNC110  it offers no event
            await asyncio.sleep(LOOK_S)
        return f"the connection to {self.address} broke"

    def _look_at(self, snapshot: Snapshot) -> str | None:
        if self.snapshot is not None and snapshot.scheduler_id != self.snapshot.scheduler_id:
            return f"another scheduler answers at {self.address}"
        before = set() if self.snapshot is None else {one.name for one in self.snapshot.workers}
        self.snapshot = self._judged(snapshot)
        for name in sorted(before - {one.name for one in snapshot.workers}):
            log.warning("worker lost", worker=name)
            self._listener.worker_lost(name)
        return None

    # Which workers can run jobs.

    async def _examine_newcomers(self) -> str:
        """Each by itself: one that is slow to import what jobs need keeps no verdict on others back."""
        asking: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                for worker in () if self.snapshot is None else self.snapshot.workers:
                    if worker.address not in asking and self._is_to_be_asked(worker.address):
                        asking[worker.address] = asyncio.create_task(self._examine(worker))
                asking = {address: task for address, task in asking.items() if not task.done()}
                await asyncio.sleep(PROBE_S)
        finally:
            for task in asking.values():
                task.cancel()

    def _is_to_be_asked(self, address: str) -> bool:
        known = self._fitness.get(address)
        if known is None:
            return True
        # What was wrong may have been put right.
        return known.problem is not None and now() - known.asked_at >= ASK_AGAIN_S

    async def _examine(self, worker: DaskWorker) -> None:
        assert self.client is not None
        found = await fitness.examine(self.client, worker.address, self._database_id, registry.authored())
        if found is None:
            return
        before = self._fitness.get(worker.address)
        self._fitness[worker.address] = found
        if found.problem is not None and (before is None or found.problem != before.problem):
            log.warning("a worker gets no jobs", worker=worker.name, problem=found.problem)
        self._listener.state_changed()

    def _judged(self, snapshot: Snapshot) -> Snapshot:
        workers = []
        for one in snapshot.workers:
            known = self._fitness.get(one.address)
            workers.append(one if known is None else replace(one, problem=known.problem, pid=known.pid))
        return replace(snapshot, workers=tuple(workers))

    async def _tear_down(self) -> None:
        self.dashboard_url = self.snapshot = None
