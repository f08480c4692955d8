"""What a forked process runs: one Dask scheduler, or one Dask worker. Everything heavy is imported here."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from typing import Any

import dask
import prometheus_client as _for_dasks_pages  # noqa: F401  else imported by each process anew
from distributed import Scheduler, Worker
from distributed.versions import get_versions

from jobdeck_backend import logs
from jobdeck_backend.scheduling import worker as _preloaded  # noqa: F401  LangGraph, the store, the commands
from jobdeck_backend.scheduling.line import tell
from jobdeck_backend.scheduling.snapshot import SnapshotPlugin
from jobdeck_backend.settings import Settings
from jobdeck_backend.workflows.registry import WORKFLOWS

# Each with its reason; facts measured on this version of distributed.
DASK_CONFIG = {
    "distributed.scheduler.worker-saturation": 1.0,  # no more on a worker than it has threads: queued is queued
    "distributed.scheduler.work-stealing": False,  # nothing to steal then
    "distributed.scheduler.allowed-failures": 1_000_000,  # attempts are counted on the records, never by Dask
    "distributed.scheduler.worker-ttl": "15s",
    "distributed.comm.timeouts.connect": "5s",
    "distributed.comm.timeouts.tcp": "12s",  # below 11 s distributed refuses to connect
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.admin.tick.interval": "500ms",  # at 20 ms it was most of what an idle process does
}
HOST = "127.0.0.1"

dask.config.set(DASK_CONFIG)
get_versions()  # looked up once: each process tells the scheduler which it has
for _workflow in WORKFLOWS:
    _workflow.load()
if Settings().db_url is not None:
    from jobdeck_backend.store import postgres_checkpoints as _also_preloaded  # noqa: F401


def run_scheduler(request: dict[str, Any]) -> None:
    """A scheduler until killed; its ready line has address, id and dashboard URL."""
    asyncio.run(_scheduler(request))


async def _scheduler(request: dict[str, Any]) -> None:
    _prepare()
    pages = Settings().dask_dashboard
    scheduler: Any = Scheduler(
        host=HOST, port=request["port"], dashboard_address=f"{HOST}:0", dashboard=pages
    )
    await SnapshotPlugin().start(scheduler)
    await scheduler
    tell(
        event="ready",
        name=request["name"],
        pid=os.getpid(),
        address=scheduler.address,
        id=scheduler.id,
        dashboard_url=f"http://{HOST}:{scheduler.http_server.port}",
    )
    await scheduler.finished()


class _PlainWorker(Worker):
    """A worker whose metrics are JSON.

    Dask keys its digests by tuples, so that the scheduler's own ``/json/identity.json`` answers 500 whenever a
    task ran since the last heartbeat: just when somebody wants to look.
    """

    async def get_metrics(self) -> dict[str, Any]:
        metrics: dict[str, Any] = await super().get_metrics()
        return {**metrics, "digests_total_since_heartbeat": {}}


def run_worker(request: dict[str, Any]) -> None:
    """A worker until killed."""
    asyncio.run(_worker(request))


async def _worker(request: dict[str, Any]) -> None:
    _prepare()
    worker: Any = _PlainWorker(
        request["scheduler"],
        nthreads=request["threads"],
        name=request["name"],
        host=HOST,
        dashboard=False,
        memory_limit=0,
        death_timeout=10,
        local_directory=request["local_directory"],
    )
    await worker
    tell(event="ready", name=request["name"], pid=os.getpid(), address=worker.address)
    await worker.finished()


def _prepare() -> None:
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_DFL)
    logs.configure()
    # A recorder refusing a callback is how a stopped job ends; LangChain would log each as an error.
    logging.getLogger("langchain_core.callbacks.manager").setLevel(logging.CRITICAL)


RUN: dict[str, Callable[[dict[str, Any]], None]] = {"scheduler": run_scheduler, "worker": run_worker}
