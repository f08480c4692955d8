"""The embedded Dask cluster: its processes, its epochs, and the truth about whether it lives (R23).

An epoch is one scheduler process's life. When the scheduler is lost, its workers are ended too (they would go
on running what nobody knows of), and a new epoch starts from nothing: what must run again comes from SQL.
"""

import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

import dask
import structlog
from distributed import Client

from jobdeck_backend.clock import now
from jobdeck_backend.scheduling import snapshot as dask_snapshot
from jobdeck_backend.scheduling.forks import ForkedProcess, ForkServer
from jobdeck_backend.scheduling.process_logs import ProcessLogs
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.settings import Settings

log = structlog.get_logger(__name__)

PROBE_S = 0.25
RETRY_S = 0.5
GONE_WITHIN_S = 5.0
# A worker that was ready for this long is in every snapshot, unless Dask dropped it.
SETTLED_S = 1.0
CLIENT_TIMEOUT = "3s"
# A scheduler and workers that die together are told of one after the other.
TOGETHER_S = 0.01

State = Literal["up", "suspect", "lost", "starting"]


class ClusterListener(Protocol):
    """Who hears what becomes of the cluster."""

    async def epoch_started(self, epoch: int) -> None:
        """A scheduler with all its workers is up."""

    def scheduler_lost(self, epoch: int, reason: str) -> None:
        """The epoch is over and every process of it is gone."""

    def worker_lost(self, name: str) -> None:
        """A worker process is gone; its replacement is on the way."""

    def state_changed(self) -> None:
        """``state`` is another one now."""


class EmbeddedCluster:
    """One scheduler and its workers on this machine, started, watched and restarted."""

    def __init__(
        self, settings: Settings, next_epoch: Callable[[], Awaitable[int]], listener: ClusterListener
    ) -> None:
        """``next_epoch`` takes a new epoch number on the record."""
        self._settings = settings
        self._next_epoch = next_epoch
        self._listener = listener
        self._directory = settings.state_dir / "dask"
        self.logs = ProcessLogs(settings.state_dir / "logs", lambda: self.workers)
        self._forks = ForkServer(self.logs.path("forkserver"))
        self._task: asyncio.Task[None] | None = None
        self._lost_workers: asyncio.Queue[ForkedProcess] = asyncio.Queue()
        self._workers_started = 0
        self.state: State = "starting"
        self.epoch = 0
        self.address: str | None = None
        self.dashboard_url: str | None = None
        self.client: Client | None = None
        self.snapshot: Snapshot | None = None
        self.scheduler: ForkedProcess | None = None
        self.workers: dict[str, ForkedProcess] = {}

    def is_alive(self, worker: str) -> bool:
        """Whether that worker's process exists: certain, since the processes are our own."""
        process = self.workers.get(worker)
        return process is not None and not process.exited.is_set()

    def loss_of(self, worker: str, epoch: int) -> str | None:
        """What took a worker of an epoch; None while it lives, or while that is not clear yet.

        A worker's end is laid at its own door only once it is sure that it was not the scheduler's: a job counts
        the workers that it lost. Safe from any thread.
        """
        if worker in self.workers:
            return None  # its end, if it has come, is about to be judged
        of_this = epoch == self.epoch and self.state in {"up", "suspect"}
        died = self.scheduler is None or self.scheduler.exited.is_set()
        return "worker lost" if of_this and not died else "scheduler lost"

    async def start(self) -> None:
        """Begin to bring the first epoch up; answers at once."""
        dask.config.set({"distributed.diagnostics.computations.nframes": 0})
        self._task = asyncio.create_task(self._run(), name="cluster")
        self.logs.start()

    async def stop(self) -> None:
        """End every process."""
        await self.logs.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._close_client()
        await self._forks.stop()

    def _become(self, state: State) -> None:
        if self.state != state:
            self.state = state
            self._listener.state_changed()

    async def _run(self) -> None:
        while True:
            self._become("starting")
            try:
                self.epoch = await self._next_epoch()
                await self._bring_up()
                self._become("up")
                await self._listener.epoch_started(self.epoch)
            except Exception as error:  # whatever it is, the next epoch must come
                log.warning("the cluster did not come up; trying again", epoch=self.epoch, error=repr(error))
                await self._tear_down()
                await self._close_client()
                await asyncio.sleep(RETRY_S)
                continue
            reason = await self._watch()
            self._become("lost")
            log.warning("scheduler lost", epoch=self.epoch, reason=reason)
            await self._tear_down()
            self._listener.scheduler_lost(self.epoch, reason)
            await self._close_client()

    async def _bring_up(self) -> None:
        # What workers of former epochs left there, having been killed.
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._forks.running:
            self._forks = ForkServer(self.logs.path("forkserver"))
            await self._forks.start()
        self.scheduler = await self._forks.fork(
            "scheduler", f"scheduler-e{self.epoch}", self.logs.path("scheduler"), lambda _process: None
        )
        ready = await self.scheduler.ready()
        self.address, self.dashboard_url = ready["address"], ready["dashboard_url"]
        for _ in range(self._settings.max_running_async_jobs):
            await self._fork_worker()
        self.client = await Client(
            self.address, asynchronous=True, set_as_default=False, timeout=CLIENT_TIMEOUT
        )
        for worker in list(self.workers.values()):
            await worker.ready()
        self.snapshot = await dask_snapshot.read(self.client, now(), self._settings.scheduler_lost_s)

    async def _fork_worker(self) -> None:
        name = f"w{self._workers_started}-e{self.epoch}"
        self._workers_started += 1
        self.workers[name] = await self._forks.fork(
            "worker",
            name,
            self.logs.path(name),
            self._lost_workers.put_nowait,
            scheduler=self.address,
            threads=self._settings.dask_threads_per_worker,
            local_directory=str(self._directory),
        )

    async def _watch(self) -> str:
        """Wait until the epoch is over; answers why."""
        assert self.scheduler is not None
        duties = {
            asyncio.create_task(self._await_exit(self.scheduler)),
            asyncio.create_task(self._probe()),
            asyncio.create_task(self._replace_workers()),
        }
        try:
            done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
            duty = done.pop()
            failure = duty.exception()
            return duty.result() if failure is None else f"it cannot be watched any more ({failure!r})"
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)

    async def _await_exit(self, scheduler: ForkedProcess) -> str:
        await scheduler.exited.wait()
        return f"its process {scheduler.pid} ended (exit code {scheduler.exit_code})"

    async def _probe(self) -> str:
        """Ask the scheduler again and again; suspect, then lost, when it does not answer."""
        answered_at = now()
        while True:
            try:
                assert self.client is not None
                self.snapshot = await dask_snapshot.read(
                    self.client, now(), self._patience_s(now() - answered_at)
                )
                answered_at = now()
                self._become("up")
                self._end_dropped_workers(self.snapshot)
            except (TimeoutError, OSError):
                if now() - answered_at >= self._settings.scheduler_lost_s:
                    return f"it did not answer for {self._settings.scheduler_lost_s:.0f} s"
                if now() - answered_at >= self._settings.scheduler_suspect_s:
                    self._become("suspect")
            await asyncio.sleep(PROBE_S)

    def _patience_s(self, silent_s: float) -> float:
        """How long to wait for an answer after so long a silence: no longer than until the next bound."""
        suspect_s, lost_s = self._settings.scheduler_suspect_s, self._settings.scheduler_lost_s
        if silent_s < suspect_s:
            return suspect_s - silent_s
        return max(PROBE_S, min(suspect_s, lost_s - silent_s))

    def _end_dropped_workers(self, snapshot: Snapshot) -> None:
        """End workers that Dask gave up, so that they are replaced: hung, they would take a slot for ever."""
        known = {worker.name for worker in snapshot.workers}
        for process in self.workers.values():
            served = process.ready_at is not None and process.ready_at + SETTLED_S < snapshot.read_at
            if served and process.name not in known:
                process.signal(signal.SIGKILL)

    async def _replace_workers(self) -> str:
        while True:
            process = await self._lost_workers.get()
            if self.workers.get(process.name) is not process:
                continue  # of an epoch that is over
            # A scheduler that dies ends its workers; that is the epoch's loss, not theirs.
            await asyncio.sleep(TOGETHER_S)
            if self.scheduler is None or self.scheduler.exited.is_set():
                return "its processes ended"
            del self.workers[process.name]
            log.warning("worker lost", worker=process.name, exit_code=process.exit_code)
            await self._fork_worker()
            self._listener.worker_lost(process.name)

    async def _tear_down(self) -> None:
        processes = [*self.workers.values(), *([self.scheduler] if self.scheduler else [])]
        self.workers = {}
        for process in processes:
            process.signal(signal.SIGKILL)
        try:
            async with asyncio.timeout(GONE_WITHIN_S):
                for process in processes:
                    await process.exited.wait()
        except TimeoutError:
            # The kernel has ended them; it is the fork server that hangs and does not say so.
            await self._forks.kill()
        self.address = self.dashboard_url = self.snapshot = None

    async def _close_client(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            # Its own way of closing waits for a scheduler that is gone.
            await asyncio.wait({asyncio.ensure_future(client.close(timeout=0.2))}, timeout=1.0)
