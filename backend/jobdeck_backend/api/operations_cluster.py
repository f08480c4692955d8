"""The operations API's cluster and drills."""

import asyncio
from typing import Any

from fastapi import APIRouter, Response

from jobdeck_backend.api import schemas, shapes
from jobdeck_backend.api.operations_acts import OPERATOR
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import NotFound, Refused
from jobdeck_backend.jobs.differences import Difference
from jobdeck_backend.scheduling.snapshot import DaskWorker
from jobdeck_backend.store import drills

router = APIRouter(prefix="/v1/ops", tags=["operations API: cluster"])

DRILL: dict[int | str, dict[str, Any]] = {
    403: {"description": "this server does not allow drills"},
    409: {"description": "another drill runs, or the cluster is not up"},
    422: {"description": "confirm does not repeat the fault's name, or there is no such worker"},
}


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
            views.append({"name": name, "pid": process.pid or None, **unregistered})
    return views


def _disagreement(one: Difference, at: float) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "job_id": one.job_id,
        "text": one.text,
        "seconds": round(max(0.0, at - one.since), 3),
    }


@router.post("/drills", status_code=202, response_model=schemas.Drill, responses=DRILL)
async def start_drill(request: schemas.DrillRequest, serving: Serving) -> Response:
    """Inject a fault and watch; answers the drill just begun."""
    try:
        drill = await serving.drills.start(request.fault, confirm=request.confirm, target=request.target)
    except Refused as refusal:
        await _note(serving, request.fault, f"refused: {refusal.code}")
        raise
    await _note(serving, request.fault, f"injected into {drill['target']}, drill {drill['id']}")
    return shapes.answer(drill, 202)


async def _note(serving: Services, fault: str, result: str) -> None:
    by = operators.By(OPERATOR, now())
    await asyncio.wrap_future(serving.writer.submit(operators.note, f"drill {fault}", result, by))
    serving.feed.wake()


@router.get("/drills", response_model=schemas.Drills)
def list_drills(serving: Serving) -> Response:
    """The newest drills, newest first."""
    with serving.database.read() as tx:
        return shapes.answer({"drills": drills.newest(tx)})


@router.get(
    "/drills/{drill_id}", response_model=schemas.Drill, responses={404: {"description": "no such drill"}}
)
def get_drill(drill_id: str, serving: Serving) -> Response:
    """One drill, whole."""
    with serving.database.read() as tx:
        drill = drills.load(tx, drill_id)
    if drill is None:
        raise NotFound(f"there is no drill {drill_id}")
    return shapes.answer(drill)
