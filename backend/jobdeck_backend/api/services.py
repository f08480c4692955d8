"""What the routes work with, made once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from jobdeck_backend.api import caller
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.feed import Feed
from jobdeck_backend.api.pulse import Pulse
from jobdeck_backend.api.streams import Streaming
from jobdeck_backend.clock import now
from jobdeck_backend.commands.admission import Terms
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.faults import FaultPoint, reached
from jobdeck_backend.identity.principal import Role
from jobdeck_backend.jobs.records import Admission
from jobdeck_backend.recovery.drills import Drills
from jobdeck_backend.recovery.reaper import Reaper
from jobdeck_backend.scheduling.agreement import Agreement
from jobdeck_backend.scheduling.dispatcher import Dispatcher
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.scheduling.workers import Workers
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.artifact_files import ArtifactFiles
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.preferences import PreferenceStore
from jobdeck_backend.store.writer import Writer
from jobdeck_backend.upkeep.pruner import Pruner

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Services:
    """Everything a route may use."""

    settings: Settings
    database: Database
    pulse: Pulse
    writer: Writer
    cluster: Cluster
    dispatcher: Dispatcher
    reaper: Reaper
    streaming: Streaming
    board: Board
    feed: Feed
    agreement: Agreement
    drills: Drills
    workers: Workers
    pruner: Pruner
    artifact_files: ArtifactFiles
    preferences: PreferenceStore

    async def look(self, read: Callable[[Connection], T]) -> T:
        """What a short read answers. SQLite is asked here: that takes less than the change of thread which a
        database that may keep its caller waiting is worth."""
        if self.database.path is None:
            return await run_in_threadpool(self._read, read)
        return self._read(read)

    def _read(self, read: Callable[[Connection], T]) -> T:
        with self.database.read() as tx:
            return read(tx)

    def terms(self) -> Terms:
        """What admissions are measured by now: live slots, or those to come while there is no picture of Dask."""
        settings, snapshot = self.settings, self.cluster.snapshot
        configured = settings.max_running_async_jobs * settings.dask_threads_per_worker
        return Terms(
            slots=snapshot.slots if snapshot is not None and snapshot.workers else configured,
            drained=() if snapshot is None else snapshot.drained,
            assumed_service_s=settings.assumed_service_s,
            unfinished_jobs_max=settings.unfinished_jobs_max,
            unfinished_jobs_per_principal_max=settings.unfinished_jobs_per_principal_max,
            submissions_per_minute_max=settings.submissions_per_minute_max,
        )


async def admit(serving: Services, new: NewJob) -> Admission:
    """Store a job durably as its caller's, or raise why not."""
    asking = caller.principal()
    if asking is not None:
        new = replace(new, owner=asking.owner, confined=not asking.may(Role.VIEWER))
    admission = await serving.writer.submit(submit, new, now(), serving.terms())
    reached(FaultPoint.ADMITTED, admission.job_id)
    return admission


async def _services(request: Request) -> Services:
    """The application's services, as a dependency; not a plain function, which would cost a thread."""
    return cast("Services", request.app.state.services)


Serving = Annotated[Services, Depends(_services)]
"""What a route takes to be given them."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"description": "no such job"}}
