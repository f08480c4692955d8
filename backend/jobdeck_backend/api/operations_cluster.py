"""The operations API's cluster."""

from typing import Any

from fastapi import APIRouter, Response

from jobdeck_backend.api import schemas, shapes
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.jobs.differences import Difference
from jobdeck_backend.scheduling.snapshot import DaskWorker

router = APIRouter(prefix="/v1/ops", tags=["operations API: cluster"])


@router.get("/cluster", response_model=schemas.Cluster)
async def cluster(serving: Serving) -> Response:
    """Dask's own picture, the processes behind it, and where the records differ for a second or longer."""
    at, snapshot = now(), serving.cluster.snapshot
    scheduler = serving.cluster.scheduler
    running = scheduler is not None and not scheduler.exited.is_set()
    pid = scheduler.pid if scheduler is not None and running else None
    return shapes.answer(
        {
            "scheduler": shapes.scheduler(serving.cluster, at) | {"pid": pid},
            "workers": _workers(serving, snapshot.workers if snapshot else ()),
            "tasks": snapshot.tasks if snapshot else {},
            "disagreements": [_disagreement(one, at) for one in serving.agreement.lasting()],
        }
    )


def _workers(serving: Services, known: tuple[DaskWorker, ...]) -> list[dict[str, Any]]:
    """Those Dask knows, then those whose process runs but has not registered."""
    processes = serving.cluster.workers
    views: list[dict[str, Any]] = [
        {
            "name": one.name,
            "address": one.address,
            "pid": processes[one.name].pid if one.name in processes else one.pid,
            "threads": one.threads,
            "executing": one.executing,
            "ready": one.ready,
            "memory": one.memory_bytes,
            "last_seen": round(one.last_seen_age, 3),
            "state": serving.workers.state(one.name, one),
            "problem": one.problem,
        }
        for one in known
    ]
    unregistered: dict[str, Any] = {
        "address": None,
        "threads": 0,
        "executing": 0,
        "ready": 0,
        "memory": 0,
        "last_seen": None,
        "problem": None,
    }
    names = {one.name for one in known}
    for name, process in processes.items():
        if name not in names:
            state = serving.workers.state(name, None)
            views.append({"name": name, "pid": process.pid or None, **unregistered, "state": state})
    return views


def _disagreement(one: Difference, at: float) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "job_id": one.job_id,
        "text": one.text,
        "seconds": round(max(0.0, at - one.since), 3),
    }
