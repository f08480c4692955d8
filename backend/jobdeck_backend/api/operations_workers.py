"""The operations API's workers: drain one, take it back, restart one, read its log."""

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from jobdeck_backend.api import caller, shapes
from jobdeck_backend.api import worker_schemas as schemas
from jobdeck_backend.api.operations_acts import UNSAID
from jobdeck_backend.api.schemas import Act
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import NotFound, Refused
from jobdeck_backend.store import attempts

router = APIRouter(prefix="/v1/ops", tags=["operations API: workers"])
WorkerName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
AT_ONCE = schemas.Restart()

WORKER: dict[int | str, dict[str, Any]] = {
    404: {"description": "no such worker; the message names those there are"},
    409: {"description": "the cluster is not up, or the worker is not this server's"},
    422: {"description": "no name of a worker"},
    503: {"description": "the database cannot be written"},
}


@router.post("/workers/{name}/drain", response_model=schemas.WorkerAct, responses=WORKER)
async def drain(name: WorkerName, serving: Serving, act: Act = UNSAID) -> Response:
    """Let a worker take nothing new; what runs there goes on, what waits there goes elsewhere."""
    result = await _perform(serving, "drain", name, act, serving.workers.drain(name))
    return await _answer(serving, name, result, 200)


@router.post("/workers/{name}/undrain", response_model=schemas.WorkerAct, responses=WORKER)
async def undrain(name: WorkerName, serving: Serving, act: Act = UNSAID) -> Response:
    """Let a drained worker take work again."""
    result = await _perform(serving, "undrain", name, act, serving.workers.undrain(name))
    return await _answer(serving, name, result, 200, drained=False)


@router.post("/workers/{name}/restart", status_code=202, response_model=schemas.WorkerAct, responses=WORKER)
async def restart(name: WorkerName, serving: Serving, act: schemas.Restart = AT_ONCE) -> Response:
    """Drain a worker, then end its process and let a fresh one take its place."""
    result = await _perform(serving, "restart", name, act, serving.workers.restart(name, act.grace_seconds))
    return await _answer(serving, name, result, 202)


async def _perform(serving: Services, verb: str, name: str, act: Act, doing: Awaitable[str]) -> str:
    """Do it, and put on record what came of it: a refusal, too."""
    try:
        result = await doing
    except Refused as refusal:
        await _note(serving, verb, f"refused: {refusal.code}, worker {name}", act)
        raise
    await _note(serving, verb, result, act)
    return result


async def _note(serving: Services, name: str, result: str, act: Act) -> None:
    by = operators.By(caller.operator(), now(), act.reason)
    await serving.writer.submit(operators.note, name, result, by)
    serving.feed.cluster_changed()


async def _answer(
    serving: Services, name: str, result: str, status: int, *, drained: bool = True
) -> Response:
    running = await asyncio.to_thread(_running_on, serving, name)
    answer = {
        "name": name,
        "state": serving.workers.state_after_act(name, running, drained=drained),
        "running": running,
        "result": result,
    }
    return shapes.answer(answer, status)


def _running_on(serving: Services, name: str) -> int:
    with serving.database.read() as tx:
        return attempts.running_on(tx, name)


@router.get(
    "/workers/{name}/log",
    response_model=schemas.WorkerLog,
    responses={404: {"description": "no log of such a worker is kept"}},
)
def worker_log(
    name: WorkerName,
    serving: Serving,
    tail: Annotated[int, Query(ge=1, le=5000, description="lines")] = 200,
) -> Response:
    """The end of a worker's log, also of one that is gone, as long as it is kept."""
    found = serving.cluster.logs.tail(name, tail)
    if found is None:
        raise NotFound(f"no log of a worker {name} is kept")
    lines, more = found
    return shapes.answer({"worker": name, "lines": lines, "more": more})
