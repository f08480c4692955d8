"""Fault drills: a real fault, injected on purpose, and what the records and the cluster showed of it.

A drill only watches: everything that mends the fault is what mends a real one.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.errors import InvalidInput, NotAllowed, NotEligible, NotFound
from jobdeck_backend.instance import owner_is_gone, this_process
from jobdeck_backend.recovery.drill_before import Before, look_before
from jobdeck_backend.recovery.drill_faults import ApiLoss
from jobdeck_backend.recovery.drill_inject import Injection, Injector
from jobdeck_backend.recovery.drill_record import Drill, Fault, Step
from jobdeck_backend.recovery.drill_streams import Streams
from jobdeck_backend.recovery.drill_watch import Watch
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import drills
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

LOOK_S = 0.02
KILL_WITHIN_S = 30.0
BEFORE = "before"
"""Where the record of a drill that its backend does not outlive keeps what was true before."""
OWNED_BY = "owner"
"""And where each keeps which backend runs it."""


class Drills:
    """Runs one drill at a time and keeps its record."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: Writer,
        cluster: Cluster,
        streams: Streams,
        on_change: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """``on_change`` gets the whole drill, as the operations API shows it, at each change."""
        self._settings = settings
        self._database = database
        self._writer = writer
        self._cluster = cluster
        self._injector = Injector(settings, database, cluster, streams)
        self._on_change = on_change
        self._task: asyncio.Task[None] | None = None
        self._running: tuple[Drill, Watch, Injection] | None = None
        self._starting = asyncio.Lock()
        self._looking = asyncio.Lock()

    async def take_up(self) -> None:
        """At start: a drill whose backend ended with it goes on if that was the drill, else it has failed."""

        def running(tx: Connection) -> list[dict[str, Any]]:
            return [record for record in drills.newest(tx) if record["state"] == "running"]

        for record in await self._writer.submit(running):
            owner = record.get(OWNED_BY)
            if owner is not None and not owner_is_gone(owner):
                continue  # another backend on this database watches it
            drill = Drill.going_on(record, datetime.fromisoformat(record["started_at"]).timestamp())
            if BEFORE in record and self._task is None:
                before = Before.from_json(record[BEFORE])
                watch = ApiLoss(self._settings, self._database, self._cluster, drill, before)
                self._watch(drill, watch, Injection())
            else:
                await self._break_off(drill, "the backend ended during the drill")

    async def start(self, fault: Fault, *, confirm: str, target: str | None) -> dict[str, Any]:
        """Inject the fault; answers the drill as it stands just after.

        ``api-loss`` is only made ready: whoever asked for it kills this process, and the next one goes on with it.
        Raises ``NotAllowed`` where drills are off, ``InvalidInput`` for a wrong confirmation or an unknown worker,
        ``NotEligible`` while another drill runs or the cluster is not up.
        """
        if not self._settings.drills_allowed:
            raise NotAllowed(f"this server does not allow drills: {self._why_none()}; nothing was done")
        if confirm != fault:
            raise InvalidInput(f"confirm must repeat the fault's name, {fault}; nothing was done")
        if self._starting.locked() or (self._task is not None and not self._task.done()):
            raise NotEligible("another drill runs; wait for its end, or heal it")
        async with self._starting:
            if self._cluster.state != "up":
                raise NotEligible(f"the cluster is not up ({self._cluster.state}); nothing was done")
            before = await asyncio.to_thread(look_before, self._database, self._cluster)
            drill = Drill(uuid4().hex[:12], fault, None, started_at=now())
            if fault == "api-loss":
                return await self._make_ready(drill, before)
            watch, injection = await self._injector.prepare(drill, before, target)
            drill.started_at = now()
            drill.add(Step("injected", injection.inject(), None), drill.started_at)
            log.warning("drill: fault injected", fault=fault, target=drill.target)
            self._watch(drill, watch, injection)
        return await self._publish(drill)

    def _why_none(self) -> str:
        if self._settings.allow_drills is False:
            return "it was started with --no-drills"
        return "its Dask cluster is others'; with JOBDECK_ALLOW_DRILLS=true what hits itself can be drilled"

    async def heal(self, drill_id: str) -> dict[str, Any]:
        """End what hangs, now; the drill ends once all is well.

        Raises ``NotFound``, or ``NotEligible`` when it is over or waits for the backend to be killed.
        """
        running = self._running
        if running is None or running[0].id != drill_id or running[0].state != "running":
            with self._database.read() as tx:
                if drills.load(tx, drill_id) is None:
                    raise NotFound(f"there is no drill {drill_id}")
            raise NotEligible(f"nothing hangs in drill {drill_id}; there is nothing to heal")
        drill, watch, injection = running
        async with self._looking:
            drill.add(Step("healed", injection.heal() or "nothing hangs; recovery goes on", None), now())
            watch.heal()
        return await self._publish(drill)

    async def stop(self) -> None:
        """The backend ends: a drill in progress cannot be judged."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _make_ready(self, drill: Drill, before: Before) -> dict[str, Any]:
        drill.target = "backend"
        drill.add(Step("ready", "waits for SIGKILL to this backend", None), now())
        kept = {**drill.shown(), OWNED_BY: this_process(), BEFORE: before.as_json()}
        await self._writer.submit(drills.save, drill.id, drill.started_at, kept)
        self._task = asyncio.create_task(self._outlive(drill), name="drill")
        self._on_change(drill.shown())
        return drill.shown()

    async def _outlive(self, drill: Drill) -> None:
        """Until this process is killed; if nobody does, there was no drill."""
        why = "the backend was stopped, not killed"
        try:
            await asyncio.sleep(KILL_WITHIN_S)
            why = f"nobody killed the backend within {KILL_WITHIN_S:.0f} s"
        finally:
            await self._break_off(drill, why)

    def _watch(self, drill: Drill, watch: Watch, injection: Injection) -> None:
        self._running = (drill, watch, injection)
        self._task = asyncio.create_task(self._run(drill, watch, injection), name="drill")

    async def _run(self, drill: Drill, watch: Watch, injection: Injection) -> None:
        try:
            while watch.open and now() - drill.started_at < watch.give_up_s:
                async with self._looking:
                    seen = await asyncio.to_thread(watch.look)
                if seen:
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
        finally:
            await injection.end()

    async def _break_off(self, drill: Drill, why: str) -> None:
        drill.add(Step("interrupted", why, None, failed=True), now())
        drill.awaited = []
        drill.end(now())
        await self._publish(drill)

    async def _publish(self, drill: Drill) -> dict[str, Any]:
        shown = drill.shown()
        kept = {**shown, OWNED_BY: this_process()}
        await self._writer.submit(drills.save, drill.id, drill.started_at, kept)
        self._on_change(shown)
        return shown
