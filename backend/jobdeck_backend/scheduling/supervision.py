"""What every cluster has in common: epochs, one after the other, and the truth about whether one lives (R23).

An epoch lasts from the moment a scheduler is there to its loss. What must run again after that comes from SQL.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Literal, Protocol

import dask
import structlog
from distributed import Client

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.scheduling import snapshot as dask_snapshot
from jobdeck_backend.scheduling.forks import ForkedProcess
from jobdeck_backend.scheduling.process_logs import ProcessLogs
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.settings import Settings

log = structlog.get_logger(__name__)

PROBE_S = 0.25
TIMER_S = 0.01
"""uvloop's timers fire up to a millisecond early: a wait that is to outlast a bound is longer by this."""
RETRY_S = 0.5
# A worker that was ready for this long is in every snapshot, unless Dask dropped it.
SETTLED_S = 1.0
CLIENT_TIMEOUT = "3s"

State = Literal["up", "suspect", "lost", "starting"]


class ClusterListener(Protocol):
    """Who hears what becomes of the cluster."""

    async def epoch_started(self, epoch: int) -> None:
        """A scheduler with all its workers is up."""

    async def scheduler_lost(self, epoch: int, reason: str) -> None:
        """The epoch is over; what is left of it counts no more."""

    def worker_lost(self, name: str) -> None:
        """A worker is gone."""

    def state_changed(self) -> None:
        """``state`` is another one now."""


class Cluster(ABC):
    """One scheduler and its workers, watched; lost, it is brought up or found again."""

    embedded: bool

    def __init__(
        self, settings: Settings, next_epoch: Callable[[], Awaitable[int]], listener: ClusterListener
    ) -> None:
        """``next_epoch`` takes a new epoch number on the record."""
        self._settings = settings
        self._next_epoch = next_epoch
        self._listener = listener
        self.logs = ProcessLogs(settings.log_directory, lambda: self.workers)
        self._task: asyncio.Task[None] | None = None
        self.state: State = "starting"
        self.problem: str | None = None
        """Why there is no scheduler, as far as that is known."""
        self._told: set[str] = set()
        self.epoch = 0
        self.address: str | None = None
        self.dashboard_url: str | None = None
        self.client: Client | None = None
        self.snapshot: Snapshot | None = None
        self.scheduler: ForkedProcess | None = None
        """The scheduler's process and the workers' by name, where they are this backend's own."""
        self.workers: dict[str, ForkedProcess] = {}

    @abstractmethod
    def worker_count(self) -> int:
        """How many workers there are now."""

    @abstractmethod
    def is_alive(self, worker: str) -> bool:
        """Whether a worker of that name is known to exist."""

    @abstractmethod
    def worker_gone(self, attempt: Attempt) -> str | None:
        """What took the worker of an attempt of the present epoch; None while it may live."""

    async def start(self) -> None:
        """Begin to bring the first epoch up; answers at once."""
        dask.config.set({"distributed.diagnostics.computations.nframes": 0})
        self._task = asyncio.create_task(self._run(), name="cluster")
        self.logs.start()

    async def stop(self) -> None:
        """End it, or leave it alone where it is not this backend's own."""
        await self.logs.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._close_client()

    @abstractmethod
    async def _bring_up(self) -> None:
        """Set ``epoch``, ``client`` and ``snapshot``."""

    @abstractmethod
    def _duties(self) -> Sequence[Coroutine[Any, Any, str]]:
        """What watches an epoch beside the probe; the first to end says why the epoch is over."""

    @abstractmethod
    async def _tear_down(self) -> None:
        """Leave nothing of the epoch that could pass for alive."""

    def _look_at(self, snapshot: Snapshot) -> str | None:
        """Called with each new picture; answers why the epoch is over, None while it is not."""
        self.snapshot = snapshot
        return None

    def _become(self, state: State) -> None:
        if self.state != state:
            self.state = state
            self._listener.state_changed()

    async def _run(self) -> None:
        while True:
            try:
                await self._bring_up()
                self.problem = None
                self._told.clear()
                self._become("up")
                await self._listener.epoch_started(self.epoch)
            except Exception as error:  # whatever it is, the next epoch must come
                self._tell(self._explain(error))
                await self._tear_down()
                await self._close_client()
                await asyncio.sleep(RETRY_S)
                continue
            reason = await self._watch()
            self.problem = reason
            self._become("lost")
            log.warning("scheduler lost", epoch=self.epoch, reason=reason)
            await self._tear_down()
            try:
                await self._listener.scheduler_lost(self.epoch, reason)
            except Exception:
                log.exception("the loss could not be put on record; the next epoch will")
            await self._close_client()

    def _tell(self, problem: str) -> None:
        """Each reason is logged once in an absence: one that has two at its turns would fill the log."""
        if problem not in self._told:
            self._told.add(problem)
            log.warning("the cluster is not there; trying again", epoch=self.epoch, error=problem)
        if problem != self.problem:
            self.problem = problem
            self._listener.state_changed()

    def _explain(self, error: Exception) -> str:
        return repr(error)

    async def _watch(self) -> str:
        """Wait until the epoch is over; answers why."""
        duties = {asyncio.create_task(duty) for duty in (*self._duties(), self._probe())}
        try:
            done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
            duty = done.pop()
            failure = duty.exception()
            return duty.result() if failure is None else f"it cannot be watched any more ({failure!r})"
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)

    async def _probe(self) -> str:
        """Ask the scheduler again and again; suspect, then lost, when it does not answer."""
        answered_at = now()
        while True:
            try:
                assert self.client is not None
                patience_s = self._patience_s(now() - answered_at)
                snapshot = await dask_snapshot.read(self.client, now(), patience_s)
                if (over := self._look_at(snapshot)) is not None:
                    return over
                answered_at = now()
                self._become("up")
            except (TimeoutError, OSError):
                if now() - answered_at >= self._settings.scheduler_lost_s:
                    return f"it did not answer for {self._settings.scheduler_lost_s:.0f} s"
                if now() - answered_at >= self._settings.scheduler_suspect_s:
                    self._become("suspect")
            await asyncio.sleep(PROBE_S)

    def _patience_s(self, silent_s: float) -> float:
        """How long to wait for an answer after so long a silence: just until the next bound is passed."""
        suspect_s, lost_s = self._settings.scheduler_suspect_s, self._settings.scheduler_lost_s
        if silent_s < suspect_s:
            return suspect_s - silent_s + TIMER_S
        return max(PROBE_S, min(suspect_s, lost_s - silent_s)) + TIMER_S

    async def _close_client(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            # Its own way of closing waits for a scheduler that is gone.
            await asyncio.wait({asyncio.ensure_future(client.close(timeout=0.2))}, timeout=1.0)
