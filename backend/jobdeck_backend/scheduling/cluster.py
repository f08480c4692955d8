"""The embedded Dask cluster: its processes, and how it comes up again (R23).

When the scheduler is lost, its workers are ended too: they would go on running what nobody knows of.
"""

import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import structlog
from distributed import Client

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.scheduling import snapshot as dask_snapshot
from jobdeck_backend.scheduling.forks import ForkedProcess, ForkServer
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.scheduling.supervision import CLIENT_TIMEOUT, SETTLED_S, Cluster, ClusterListener
from jobdeck_backend.settings import Settings

log = structlog.get_logger(__name__)

GONE_WITHIN_S = 5.0
# A scheduler and workers that die together are told of one after the other.
TOGETHER_S = 0.01


class EmbeddedCluster(Cluster):
    """One scheduler and its workers on this machine, started, watched and restarted."""

    embedded = True

    def __init__(
        self,
        settings: Settings,
        next_epoch: Callable[[], Awaitable[int]],
        listener: ClusterListener,
        forks: ForkServer,
    ) -> None:
        """``next_epoch`` takes a new epoch number on the record; ``forks`` need not be started."""
        super().__init__(settings, next_epoch, listener)
        self._forks = forks
        self._directory = settings.state_dir / "dask"
        self._lost_workers: asyncio.Queue[ForkedProcess] = asyncio.Queue()
        self._workers_started = 0
        self._port = settings.scheduler_port

    def is_alive(self, worker: str) -> bool:
        """Whether that worker's process exists: certain, since the processes are our own."""
        process = self.workers.get(worker)
        return process is not None and not process.exited.is_set()

    def worker_count(self) -> int:
        """Processes that exist, whether Dask knows them yet or not."""
        return sum(map(self.is_alive, list(self.workers)))

    def worker_gone(self, attempt: Attempt) -> str | None:
        """Certain, since the processes are our own and end with their scheduler.

        A worker's end is laid at its own door only once it is sure that it was not the scheduler's: a job counts
        the workers that it lost. Safe from any thread.
        """
        if attempt.worker in self.workers:
            return None  # its end, if it has come, is about to be judged
        died = self.scheduler is None or self.scheduler.exited.is_set()
        return "worker lost" if self.state in {"up", "suspect"} and not died else "scheduler lost"

    async def stop(self) -> None:
        """End every process."""
        await super().stop()
        await self._forks.stop()

    async def _bring_up(self) -> None:
        self._become("starting")
        self.epoch = await self._next_epoch()
        # What workers of former epochs left there, having been killed.
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._forks.running:
            await self._forks.start()
        name = f"scheduler-e{self.epoch}"
        self.scheduler = await self._forks.fork(
            "scheduler", name, self.logs.path("scheduler"), lambda _process: None, port=self._port
        )
        try:
            ready = await self.scheduler.ready()
        except OSError:
            self._port = self._settings.scheduler_port  # somebody may have taken the one it had
            raise
        self.address, self.dashboard_url = ready["address"], ready["dashboard_url"]
        # Kept, where it stays free: other backends may be attached to it.
        self._port = int(self.address.rpartition(":")[2])
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

    def _duties(self) -> Sequence[Coroutine[Any, Any, str]]:
        assert self.scheduler is not None
        return self._await_exit(self.scheduler), self._replace_workers()

    async def _await_exit(self, scheduler: ForkedProcess) -> str:
        await scheduler.exited.wait()
        return f"its process {scheduler.pid} ended (exit code {scheduler.exit_code})"

    def _look_at(self, snapshot: Snapshot) -> str | None:
        self._end_dropped_workers(snapshot)
        return super()._look_at(snapshot)

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
