"""Draining and restarting one worker while everything else goes on.

A drained worker takes nothing new: what runs on it goes on to its end, what merely waits on it goes elsewhere;
taken back, it is given work again. A restart drains, waits a grace, and ends the process; its place is taken as
after any loss, and what still ran on it is recovered without counting against the job.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from distributed import Client

from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery
from jobdeck_backend.errors import NotEligible, NotFound
from jobdeck_backend.plural import plural
from jobdeck_backend.scheduling import snapshot
from jobdeck_backend.scheduling.dispatcher import Dispatcher
from jobdeck_backend.scheduling.forks import ForkedProcess
from jobdeck_backend.scheduling.snapshot import DaskWorker
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.store import attempts
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")
LOOK_S = 0.1
ASK_S = 2.0


class Workers:
    """The acts on single workers, and which of them are under way."""

    def __init__(self, database: Database, writer: Writer, cluster: Cluster, dispatcher: Dispatcher) -> None:
        self._database = database
        self._writer = writer
        self._cluster = cluster
        self._dispatcher = dispatcher
        self._restarting: dict[str, asyncio.Task[None]] = {}
        self._ended: set[str] = set()

    def was_restarted(self, name: str) -> bool:
        """Whether that worker's process was ended on purpose: no fault of what ran there."""
        return name in self._ended

    def state(self, name: str, known: DaskWorker | None) -> str:
        """``starting``, ``running``, ``draining`` (it still has work), ``drained``, ``paused`` (by Dask, for want
        of memory) or ``restarting``."""
        if name in self._restarting:
            return "restarting"
        if known is None:
            return "starting"
        if known.takes_work:
            return "running"
        if not known.is_drained:
            return "paused"
        return "draining" if known.processing else "drained"

    def state_after_act(self, name: str, running: int, *, drained: bool = True) -> str:
        """The state of a worker that was just acted on, before any new picture of Dask."""
        if name in self._restarting:
            return "restarting"
        if not drained:
            return "running"
        return "draining" if running else "drained"

    async def drain(self, name: str) -> str:
        """Let a worker take nothing new; answers what goes on there.

        Raises ``NotFound`` for a name nobody has, ``NotEligible`` while it or the cluster is not up.
        """
        self._look_up(name)
        await self._close(name)
        running = await asyncio.to_thread(self._running_on, name)
        return f"worker {name} takes nothing new; {_going_on(running)} there"

    async def undrain(self, name: str) -> str:
        """Take a drained worker back: it is given work again.

        Raises as ``drain`` does, and ``NotEligible`` for one that is not drained or is being restarted.
        """
        self._look_up(name)
        if name in self._restarting:
            raise NotEligible(f"worker {name} is being restarted; its fresh one takes work by itself")
        before = await self._asked(snapshot.undrain, name)
        if before is None:
            raise NotEligible(f"worker {name} has not registered with the scheduler yet; nothing was done")
        if before != snapshot.DRAINED.name:
            raise NotEligible(f"worker {name} is not drained ({before}); nothing was done")
        self._dispatcher.wake()
        return f"worker {name} takes work again"

    async def restart(self, name: str, grace_s: float) -> str:
        """Drain a worker and end its process after ``grace_s`` seconds at the latest; answers at once.

        Where no job runs, it is ended at once: a thread that ignores its cancel is not waited for.
        Raises as ``drain`` does, and ``NotEligible`` for a process that is not this server's.
        """
        known = self._look_up(name)
        process = self._cluster.workers.get(name)
        if process is None:
            raise NotEligible(
                f"worker {name} is a process of somebody else's: restart it where it was started; "
                "from here it can be drained"
            )
        if name in self._restarting:
            raise NotEligible(f"worker {name} is being restarted already")
        if known is not None:
            await self._close(name)
        running = await asyncio.to_thread(self._running_on, name)
        task = asyncio.create_task(self._end(process, grace_s), name=f"restart {name}")
        self._restarting[name] = task
        task.add_done_callback(lambda _task: self._restarting.pop(name, None))
        when = f"within {grace_s:g} s" if running else "now"
        return f"worker {name} is replaced {when}; {_going_on(running)} there"

    async def stop(self) -> None:
        """The backend ends, and every worker with it."""
        for task in list(self._restarting.values()):
            task.cancel()
        await asyncio.gather(*self._restarting.values(), return_exceptions=True)

    def _look_up(self, name: str) -> DaskWorker | None:
        """The worker as Dask knows it, None for one of ours that has yet to register."""
        picture = self._cluster.snapshot
        known = {one.name: one for one in picture.workers} if picture else {}
        if name not in known and name not in self._cluster.workers:
            there = ", ".join(sorted({*known, *self._cluster.workers})) or "none"
            raise NotFound(f"there is no worker {name}; there are: {there}")
        if self._cluster.state in {"lost", "starting", "suspect"}:
            raise NotEligible(f"the cluster is not up ({self._cluster.state}); nothing was done")
        return known.get(name)

    async def _close(self, name: str) -> None:
        """Keep new work from a worker, and hand elsewhere what it has not begun."""
        held = await self._asked(snapshot.drain, name)
        if held is None:
            raise NotEligible(f"worker {name} has not registered with the scheduler yet; nothing was done")
        unstarted = await self._writer.submit(delivery.take_back_unstarted, held)
        self._dispatcher.give_again(unstarted)

    async def _asked(
        self, ask: Callable[[Client, str, float], Awaitable[Answer]], name: str
    ) -> Answer | None:
        """What the scheduler answers about a worker, None where there is none to ask."""
        client = self._cluster.client
        try:
            return None if client is None else await ask(client, name, ASK_S)
        except (TimeoutError, OSError) as error:
            raise NotEligible(f"the scheduler does not answer ({error!r}); nothing was done") from None

    def _running_on(self, name: str) -> int:
        with self._database.read() as tx:
            return attempts.running_on(tx, name)

    async def _end(self, process: ForkedProcess, grace_s: float) -> None:
        until = now() + grace_s
        while now() < until and not process.exited.is_set():
            if not await asyncio.to_thread(self._running_on, process.name):
                break
            await asyncio.sleep(LOOK_S)
        if not process.exited.is_set():
            self._ended.add(process.name)
            log.info("worker ended to be restarted", worker=process.name, pid=process.pid)
            process.signal(signal.SIGKILL)
            await process.exited.wait()


def _going_on(count: int) -> str:
    if count == 0:
        return "nothing runs"
    return f"{plural(count, 'job')} {'goes on to its end' if count == 1 else 'go on to their end'}"
