"""The composition root: makes every part, joins them, starts and stops them in order."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from jobdeck_backend import clock
from jobdeck_backend.api import (
    artifacts,
    failures,
    health,
    jobs,
    operations,
    operations_acts,
    operations_admission,
    operations_bulk,
    operations_bundle,
    operations_cluster,
    operations_drills,
    operations_failures,
    operations_feed,
    operations_jobs,
    operations_recovery,
    operations_storage,
    operations_workers,
    preferences,
    reports,
    workflow,
)
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.feed import Feed
from jobdeck_backend.api.gate import Gate
from jobdeck_backend.api.identity import Identified
from jobdeck_backend.api.overview import Overview
from jobdeck_backend.api.pulse import Pulse
from jobdeck_backend.api.services import Services
from jobdeck_backend.api.stream_drop import OpenStreams
from jobdeck_backend.api.streams import Streaming
from jobdeck_backend.commands import submission
from jobdeck_backend.errors import StartRefused, Unavailable
from jobdeck_backend.instance import EXIT_NOT_WRITABLE, backend_name
from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.loops import Loop
from jobdeck_backend.notify.sender import Sender
from jobdeck_backend.notify.signing import load_secret
from jobdeck_backend.recovery.drills import Drills
from jobdeck_backend.recovery.reaper import Reaper
from jobdeck_backend.scheduling.agreement import Agreement
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.scheduling.dispatcher import Dispatcher
from jobdeck_backend.scheduling.external import ExternalCluster
from jobdeck_backend.scheduling.forks import ForkServer
from jobdeck_backend.scheduling.presence import Presence
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.scheduling.workers import Workers
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import timekeeping
from jobdeck_backend.store.artifact_files import ArtifactFiles
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate, usable
from jobdeck_backend.store.preferences import PreferenceStore, SqlPreferences
from jobdeck_backend.store.tailer import Tailer
from jobdeck_backend.store.trouble import is_trouble
from jobdeck_backend.store.writer import Writer
from jobdeck_backend.upkeep.backup import remove_unfinished
from jobdeck_backend.upkeep.pruner import Pruner
from jobdeck_backend.upkeep.sweeper import Sweeper

if TYPE_CHECKING:
    from jobdeck_backend.identity.tokens import Verifier

EXIT_REDIS = 14


class Backend:
    """All parts of one server process."""

    def __init__(self, settings: Settings, forks: ForkServer | None) -> None:
        """Open and migrate the database. Raises ``StartRefused``.

        ``forks`` starts the scheduler and the workers; None where others have started them.
        """
        self.settings = settings
        self._forks = forks
        self._ends = AsyncExitStack()
        self.database = Database(settings.database_place, synchronous="FULL")
        migrate(self.database)
        if self.database.path is None:
            # One clock for all who share the database, wherever they run; workers are told it by this process.
            clock.adopt(self.database.clock() - time.monotonic())
        remove_unfinished(settings.state_dir)
        self._name = backend_name(settings.state_dir)
        with usable(self.database), self.database.write() as tx:
            self._database_id = timekeeping.agree(tx, self._name).database_id
        self._callback_secret = load_secret(settings)
        self.verifier = _verifier(settings) if settings.auth else None
        self._shared_preferences = _shared_preferences(settings)
        self.artifact_files = ArtifactFiles(settings.artifact_root)
        try:
            self.artifact_files.prepare()
        except OSError as error:
            raise StartRefused(
                f"artifacts cannot be kept in {settings.artifact_root} ({error.strerror}); "
                "name another directory with --artifact-dir",
                EXIT_NOT_WRITABLE,
            ) from None

    async def start(self) -> Services:
        """Start every duty; answers once requests can be served. Dask comes up meanwhile."""
        self.loop = loop = asyncio.get_running_loop()
        self.tailer = Tailer(self.database)
        self.writer = Writer(
            self.database,
            on_commit=lambda: loop.call_soon_threadsafe(self.tailer.wake),
            together={submission.submit: submission.submit_together},
        )
        self.cluster = self._make_cluster()
        self.presence = Presence(self._name, self.database, self.writer, self.cluster)
        self.dispatcher = Dispatcher(self.settings, self.writer, self.cluster, self.presence.has_rivals)
        self.reaper = Reaper(self.settings, self.database, self.writer, worker_gone=self._worker_gone)
        self.workers = Workers(self.database, self.writer, self.cluster, self.dispatcher)
        self.streaming = Streaming(self.database, self.tailer, asyncio.Event())
        self.agreement = Agreement(self.database, self.writer, self.cluster, self.dispatcher)
        board = Board(self.database, lambda: self.cluster.snapshot)
        self.feed = Feed(Overview(self.settings, self.database, board, self.cluster, self.tailer))
        self.drills = Drills(
            self.settings,
            self.database,
            self.writer,
            self.cluster,
            OpenStreams(self.streaming, self.feed),
            self.feed.publish_drill,
        )
        self.sender = Sender(self.settings, self.database, self.writer, self._callback_secret)
        self.pruner = Pruner(self.settings, self.database, self.writer, on_gone=self._jobs_gone)
        self.sweeper = Sweeper(self.settings, self.database, self.writer, self.artifact_files)
        self.tailer.listen(self.dispatcher.hear)
        self.tailer.listen(self.feed.hear)
        self.tailer.listen(self.sender.hear)
        self.preferences = self._shared_preferences or SqlPreferences(self.database, self.writer)
        await self._begin_all()
        return Services(
            settings=self.settings,
            database=self.database,
            pulse=Pulse(self.database),
            writer=self.writer,
            cluster=self.cluster,
            dispatcher=self.dispatcher,
            reaper=self.reaper,
            streaming=self.streaming,
            board=board,
            feed=self.feed,
            agreement=self.agreement,
            drills=self.drills,
            workers=self.workers,
            pruner=self.pruner,
            artifact_files=self.artifact_files,
            preferences=self.preferences,
        )

    async def _begin_all(self) -> None:
        """In order; each with what ends it, the last first."""
        ends = self._ends
        ends.callback(self.database.close)
        ends.callback(self.writer.stop)
        ends.push_async_callback(self.preferences.close)
        self._begin(self.tailer)
        ends.push_async_callback(self.presence.leave)
        await self.presence.enter()
        await self.drills.take_up()
        await self.reaper.run_once()
        self._begin(self.presence)
        ends.push_async_callback(self.reaper.release)
        self._begin(self.reaper)
        ends.push_async_callback(self.cluster.stop)
        ends.push_async_callback(self.workers.stop)
        for duty in (self.dispatcher, self.agreement, self.sender, self.pruner, self.sweeper, self.feed):
            self._begin(duty)
        ends.push_async_callback(self.drills.stop)
        await self.cluster.start()

    def _begin(self, duty: Loop) -> None:
        self._ends.push_async_callback(duty.stop)
        duty.is_told = self._is_told
        duty.start()

    def _is_told(self, error: Exception) -> bool:
        """The database's own trouble is told once when it begins and once when it ends, not by each duty."""
        condition = self.database.condition
        if is_trouble(error):
            condition.failed(error)
            return True
        return isinstance(error, Unavailable) and condition.trouble is not None

    def _jobs_gone(self, job_ids: Sequence[str]) -> None:
        """Jobs were pruned: who shows them is told, and their files go when no other job needs them."""
        self.feed.publish_gone(job_ids)
        self.sweeper.sweep_soon()

    def say_farewell(self) -> None:
        """Let every stream end with ``job.shutdown``."""
        self.streaming.stopping.set()
        self.tailer.release_all()
        self.feed.end_all()

    async def stop(self) -> None:
        """Stop every duty, whatever becomes of the others, then the cluster, and write what is waiting."""
        self.say_farewell()
        await self._ends.aclose()

    # What the cluster tells.

    async def epoch_started(self, epoch: int) -> None:
        """A new scheduler knows nothing: what an older one held goes back to the backlog, then out again."""
        await self.presence.attach(epoch)
        self.dispatcher.wake()

    async def scheduler_lost(self, epoch: int, reason: str) -> None:
        """The epoch's running jobs are recovered at once."""
        self.dispatcher.forget_all()
        try:
            await self.presence.lose(epoch, reason)
        finally:
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
        return await self.presence.next_epoch()

    def _worker_gone(self, attempt: Attempt) -> str | None:
        loss = self.presence.worker_gone(attempt)
        restarted = loss is not None and self.workers.was_restarted(attempt.worker)
        return "worker restarted" if restarted else loss

    def _make_cluster(self) -> Cluster:
        if self._forks is not None:
            return EmbeddedCluster(self.settings, self._next_epoch, self, self._forks)
        return ExternalCluster(self.settings, self._next_epoch, self, self._database_id)


def _shared_preferences(settings: Settings) -> PreferenceStore | None:
    """Those in Redis, where there is one."""
    if settings.redis_url is None:
        return None
    try:
        from jobdeck_backend.store.redis_preferences import RedisPreferences

        return RedisPreferences(settings.redis_url.get_secret_value())
    except ModuleNotFoundError:
        reason = "JOBDECK_REDIS_URL needs Redis's client, which jobdeck[redis] brings"
    except ValueError:
        reason = "JOBDECK_REDIS_URL is not one of Redis (redis://user:password@host:port/database)"
    raise StartRefused(f"{reason}; nothing was changed", EXIT_REDIS)


def _verifier(settings: Settings) -> "Verifier":
    """What callers are verified by; its library is loaded only where they are."""
    from jobdeck_backend.identity.keys import load_keys
    from jobdeck_backend.identity.tokens import Verifier

    return Verifier(
        load_keys(settings),
        issuer=settings.auth_issuer,
        audience=settings.auth_audience,
        roles_claim=settings.auth_roles_claim,
    )


def create_app(backend: Backend) -> FastAPI:
    """The HTTP application over a backend."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.services = await backend.start()
        yield
        await backend.stop()

    # No documentation pages: FastAPI's load scripts from elsewhere, which would run with this origin's rights.
    app = FastAPI(
        title="jobdeck",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=failures.DOCUMENTED,
        # Nobody is told of requests, so nobody need be looked for at each of them.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    failures.install(app, backend.settings)
    if backend.verifier is not None:
        app.add_middleware(Identified, verifier=backend.verifier)
    app.add_middleware(Gate, settings=backend.settings)
    # First, and not included: whatever is, is looked for twice at each request.
    app.router.routes += jobs.quick.routes
    app.include_router(health.router)
    operations_modules = (
        operations_jobs,
        operations_bulk,
        operations_acts,
        operations_admission,
        operations_cluster,
        operations_drills,
        operations_recovery,
        operations_workers,
        operations_failures,
        operations_feed,
        operations_storage,
        operations_bundle,
    )
    for module in (jobs, reports, artifacts, workflow, operations, preferences, *operations_modules):
        app.include_router(module.router)
    app.include_router(jobs.sources_router)
    return app
