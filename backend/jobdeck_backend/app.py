"""The composition root: makes every part, joins them, starts and stops them in order."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI

from jobdeck_backend import clock
from jobdeck_backend.api import (
    failures,
    health,
    jobs,
    operations,
    operations_acts,
    operations_cluster,
    operations_feed,
    operations_jobs,
    operations_recovery,
)
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.feed import Feed
from jobdeck_backend.api.gate import Gate
from jobdeck_backend.api.overview import Overview
from jobdeck_backend.api.services import Services
from jobdeck_backend.api.streams import Streaming
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery
from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.notify.sender import Sender
from jobdeck_backend.notify.signing import load_secret
from jobdeck_backend.recovery.drills import Drills
from jobdeck_backend.recovery.reaper import OWNER, Reaper, owner_is_gone
from jobdeck_backend.scheduling.agreement import Agreement
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.scheduling.dispatcher import Dispatcher
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import leases
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from jobdeck_backend.store.tailer import Tailer
from jobdeck_backend.store.writer import Writer


class Backend:
    """All parts of one server process."""

    def __init__(self, settings: Settings) -> None:
        """Open and migrate the database. Raises ``StartRefused``."""
        self.settings = settings
        self.database = Database(settings.database_place, synchronous="FULL")
        migrate(self.database)
        if self.database.path is None:
            # One clock for all who share the database, wherever they run; workers are told it by this process.
            clock.adopt(self.database.clock() - time.monotonic())
        self._epoch_owners: dict[int, str | None] = {}
        self._callback_secret = load_secret(settings)

    async def start(self) -> Services:
        """Start every duty; answers once requests can be served. Dask comes up meanwhile."""
        self.loop = loop = asyncio.get_running_loop()
        self.tailer = Tailer(self.database)
        self.writer = Writer(self.database, on_commit=lambda: loop.call_soon_threadsafe(self.tailer.wake))
        self.cluster = EmbeddedCluster(self.settings, self._next_epoch, self)
        self.dispatcher = Dispatcher(self.settings, self.writer, self.cluster, self._is_owner)
        self.reaper = Reaper(
            self.settings,
            self.database,
            self.writer,
            worker_gone=self._worker_gone,
            taken_over=self._take_back_others,
        )
        self.streaming = Streaming(self.database, self.tailer, asyncio.Event())
        self.agreement = Agreement(self.database, self.writer, self.cluster, self.dispatcher)
        board = Board(self.database, lambda: self.cluster.snapshot)
        self.feed = Feed(Overview(self.settings, self.database, board, self.cluster, self.tailer))
        self.drills = Drills(self.settings, self.database, self.writer, self.cluster, self.feed.publish_drill)
        self.sender = Sender(self.settings, self.database, self.writer, self._callback_secret)
        self.tailer.listen(self.dispatcher.hear)
        self.tailer.listen(self.feed.hear)
        self.tailer.listen(self.sender.hear)
        self.tailer.start()
        await self.drills.close_interrupted()
        await self.reaper.run_once()
        self.reaper.start()
        self.dispatcher.start()
        self.agreement.start()
        self.sender.start()
        self.feed.start()
        await self.cluster.start()
        return Services(
            self.settings,
            self.database,
            self.writer,
            self.cluster,
            self.dispatcher,
            self.reaper,
            self.streaming,
            board,
            self.feed,
            self.agreement,
            self.drills,
        )

    def say_farewell(self) -> None:
        """Let every stream end with ``job.shutdown``."""
        self.streaming.stopping.set()
        self.tailer.release_all()
        self.feed.end_all()

    async def stop(self) -> None:
        """Stop every duty, the cluster first, and write what is waiting."""
        self.say_farewell()
        async with AsyncExitStack() as last_first:  # every step is taken, whatever became of the one before
            last_first.callback(self.database.close)
            last_first.callback(self.writer.stop)
            last_first.push_async_callback(self.tailer.stop)
            last_first.push_async_callback(self.reaper.release)
            last_first.push_async_callback(self.reaper.stop)
            last_first.push_async_callback(self.cluster.stop)
            last_first.push_async_callback(self.dispatcher.stop)
            last_first.push_async_callback(self.agreement.stop)
            last_first.push_async_callback(self.sender.stop)
            last_first.push_async_callback(self.feed.stop)
            last_first.push_async_callback(self.drills.stop)

    # What the cluster tells.

    async def epoch_started(self, epoch: int) -> None:  # noqa: ARG002
        """A new scheduler knows nothing: what an older one held goes back to the backlog, then out again."""
        if self._is_owner():
            await self._take_back_others()
        self.dispatcher.wake()

    def scheduler_lost(self, epoch: int, reason: str) -> None:  # noqa: ARG002
        """Every process of the epoch is gone: its running jobs are recovered at once."""
        self.dispatcher.forget_all()
        self.reaper.wake()

    def worker_lost(self, name: str) -> None:  # noqa: ARG002
        """Its running jobs are recovered at once."""
        self.reaper.wake()

    def state_changed(self) -> None:
        """The dispatcher looks up; every deck is told."""
        self.dispatcher.wake()
        self.feed.cluster_changed()

    # What the parts ask of each other.

    async def _next_epoch(self) -> int:
        return await asyncio.wrap_future(
            self.writer.submit(leases.next_epoch, leases.SCHEDULER, OWNER, now())
        )

    def _is_owner(self) -> bool:
        """Of the backends on one database the owner of the recovery dispatches."""
        return self.reaper.lease is not None

    async def _take_back_others(self) -> None:
        """What another scheduler was given, nobody but it knows of."""
        epoch = self.cluster.epoch
        await asyncio.wrap_future(self.writer.submit(delivery.take_back_other_epochs, epoch))
        self.dispatcher.wake()

    def _worker_gone(self, attempt: Attempt) -> str | None:
        if self.cluster.is_alive(attempt.worker):
            return None
        same_epoch = attempt.epoch == self.cluster.epoch and self.cluster.state in {"up", "suspect"}
        if same_epoch:
            return "worker lost"
        return "scheduler lost" if self._epoch_is_over(attempt.epoch) else None

    def _epoch_is_over(self, epoch: int) -> bool:
        """Whether no worker of that epoch lives, for certain: others on this database have their own."""
        if self.database.path is not None:
            return True
        if epoch not in self._epoch_owners:
            with self.database.read() as tx:
                self._epoch_owners[epoch] = leases.epoch_owner(tx, epoch)
        owner = self._epoch_owners[epoch]
        return owner is not None and (owner == OWNER or owner_is_gone(owner))


def create_app(backend: Backend) -> FastAPI:
    """The HTTP application over a backend."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.services = await backend.start()
        yield
        await backend.stop()

    # No documentation pages: FastAPI's load scripts from elsewhere, which would run with this origin's rights.
    app = FastAPI(title="jobdeck", lifespan=lifespan, docs_url=None, redoc_url=None)
    failures.install(app, backend.settings)
    app.add_middleware(Gate, settings=backend.settings)
    app.include_router(health.router)
    operations_modules = (
        operations_jobs,
        operations_acts,
        operations_cluster,
        operations_recovery,
        operations_feed,
    )
    for module in (jobs, operations, *operations_modules):
        app.include_router(module.router)
    return app
