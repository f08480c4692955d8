"""Fault drills: a real fault, injected on purpose, and what the records and the cluster showed of it.

A drill only watches: everything that mends the fault is what mends a real one.
"""

import asyncio
import signal
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.errors import InvalidInput, NotAllowed, NotEligible
from jobdeck_backend.recovery.drill_record import Drill, Fault, Step
from jobdeck_backend.recovery.drill_watch import Before, Watch, look_before
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.scheduling.forks import ForkedProcess
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import drills
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

LOOK_S = 0.02
GIVE_UP_S = 30.0


class Drills:
    """Runs one drill at a time and keeps its record."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: Writer,
        cluster: EmbeddedCluster,
        on_change: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """``on_change`` gets the whole drill, as the operations API shows it, at each change."""
        self._settings = settings
        self._database = database
        self._writer = writer
        self._cluster = cluster
        self._on_change = on_change
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def close_interrupted(self) -> None:
        """At start: a drill whose backend ended with it was never judged."""

        def close(tx: Connection) -> None:
            for record in drills.newest(tx):
                if record["state"] == "running":
                    drills.save(tx, record["id"], now(), {**record, "state": "failed"})

        await asyncio.wrap_future(self._writer.submit(close))

    async def start(self, fault: Fault, *, confirm: str, target: str | None) -> dict[str, Any]:
        """Inject the fault; answers the drill as it stands just after.

        Raises ``NotAllowed`` where drills are off, ``InvalidInput`` for a wrong confirmation or an unknown worker,
        ``NotEligible`` while another drill runs or the cluster is not up.
        """
        if not self._settings.allow_drills:
            raise NotAllowed("this server does not allow drills")
        if confirm != fault:
            raise InvalidInput(f"confirm must repeat the fault's name, {fault}; nothing was done")
        if self._starting.locked() or (self._task is not None and not self._task.done()):
            raise NotEligible("another drill runs; wait for its end")
        async with self._starting:
            return await self._inject(fault, target)

    async def _inject(self, fault: Fault, target: str | None) -> dict[str, Any]:
        before = await asyncio.to_thread(look_before, self._database)
        if self._cluster.state != "up":
            raise NotEligible(f"the cluster is not up ({self._cluster.state}); nothing was done")
        process = self._process(fault, target, before)
        drill = Drill(uuid4().hex[:12], fault, process.name, started_at=now())
        watch = Watch(self._database, self._settings.state_dir, self._cluster, drill, before)
        process.signal(signal.SIGKILL)
        drill.started_at = now()
        drill.add(Step("injected", f"SIGKILL to {process.name} (pid {process.pid})", None), drill.started_at)
        log.warning("drill: fault injected", fault=fault, target=process.name, pid=process.pid)
        self._task = asyncio.create_task(self._run(drill, watch), name="drill")
        return await self._publish(drill)

    async def stop(self) -> None:
        """The backend ends: a drill in progress cannot be judged."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _process(self, fault: Fault, target: str | None, before: Before) -> ForkedProcess:
        if fault == "scheduler-loss":
            assert self._cluster.scheduler is not None
            return self._cluster.scheduler
        workers = self._cluster.workers
        if target is None:
            busiest = max(workers, key=before.running_on, default=None)
        else:
            busiest = target if target in workers else None
        if busiest is None:
            raise InvalidInput(f"there is no worker {target}; there are: {', '.join(workers) or 'none'}")
        return workers[busiest]

    async def _run(self, drill: Drill, watch: Watch) -> None:
        try:
            while watch.open and now() - drill.started_at < GIVE_UP_S:
                if await asyncio.to_thread(watch.look):
                    await self._publish(drill)
                await asyncio.sleep(LOOK_S)
            await asyncio.to_thread(watch.judge)
        except asyncio.CancelledError:
            await self._break_off(drill, "the backend stopped during the drill")
            raise
        except Exception:
            log.exception("drill: it could not be watched", fault=drill.fault, drill=drill.id)
            await self._break_off(drill, "it could not be watched to its end; the log says why")
        else:
            await self._publish(drill)

    async def _break_off(self, drill: Drill, why: str) -> None:
        drill.add(Step("interrupted", why, None, failed=True), now())
        drill.end("failed", now())
        await self._publish(drill)

    async def _publish(self, drill: Drill) -> dict[str, Any]:
        shown = drill.shown()
        await asyncio.wrap_future(self._writer.submit(drills.save, drill.id, drill.started_at, shown))
        self._on_change(shown)
        return shown
