"""The operations API's whole picture: overview, queues, workflows, audit."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from jobdeck_backend.api import caller, schemas, shapes
from jobdeck_backend.api.act_schemas import AuditQuery
from jobdeck_backend.api.operations_acts import UNSAID
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import NotFound
from jobdeck_backend.store import audit, figures
from jobdeck_backend.store import queues as paused_queues
from jobdeck_backend.workflows import registry

router = APIRouter(prefix="/v1/ops", tags=["operations API"])
QueueName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]

DONE_WINDOW_S = 60.0
BAD_NAME: dict[int | str, dict[str, Any]] = {422: {"description": "no name of a queue"}}
NO_QUEUE: dict[int | str, dict[str, Any]] = {
    **BAD_NAME,
    404: {"description": "no such queue; the message names those there are"},
}


@router.get("/overview", response_model=schemas.Overview)
def overview(serving: Serving) -> Response:
    """One snapshot of the whole."""
    return shapes.answer(serving.feed.overview())


@router.get("/queues", response_model=schemas.Queues)
def queues(serving: Serving) -> Response:
    """Every queue that has or had jobs, or is paused."""
    return shapes.answer({"queues": _views(serving)})


@router.post("/queues/{name}/pause", response_model=schemas.QueueView, responses=BAD_NAME)
async def pause(name: QueueName, serving: Serving, act: schemas.Act = UNSAID) -> Response:
    """Hand no more of this queue's jobs to Dask; it goes on accepting them. Also before its first job."""
    return await _set_paused(serving, name, act, paused=True)


@router.post("/queues/{name}/resume", response_model=schemas.QueueView, responses=NO_QUEUE)
async def resume(name: QueueName, serving: Serving, act: schemas.Act = UNSAID) -> Response:
    """Hand out this queue's jobs again."""
    if (known := await asyncio.to_thread(_queues_without, serving, name)) is not None:
        by = operators.By(caller.operator(), now(), act.reason)
        await serving.writer.submit(operators.note, "unpause", f"refused: not_found, queue {name}", by)
        serving.feed.wake()
        raise NotFound(
            f"there is no queue {name}; the queues are: {', '.join(known) or 'none yet'}", known=known
        )
    return await _set_paused(serving, name, act, paused=False)


async def _set_paused(serving: Services, name: str, act: schemas.Act, *, paused: bool) -> Response:
    await serving.writer.submit(
        operators.set_paused, name, paused=paused, actor=caller.operator(), reason=act.reason, now=now()
    )
    serving.dispatcher.wake()
    serving.feed.wake()
    return shapes.answer((await asyncio.to_thread(_views, serving, name))[0])


def _views(serving: Services, name: str | None = None) -> list[dict[str, Any]]:
    """Every queue, or the one of that name, as they are now."""
    picture = serving.board.picture(max_age_s=0.0)
    with serving.database.read() as tx:
        sizes = figures.queue_sizes(tx)
        ended = figures.finished_since(tx, now() - DONE_WINDOW_S)
    names = sorted({*sizes, *picture.paused}) if name is None else [name]
    return shapes.queues(names, picture, sizes, ended, DONE_WINDOW_S)


def _queues_without(serving: Services, name: str) -> list[str] | None:
    """The queues there are where none has that name; None where there is one."""
    with serving.database.read() as tx:
        known = {*figures.queue_sizes(tx), *paused_queues.paused(tx)}
    return None if name in known else sorted(known)


@router.get("/workflows", response_model=schemas.Workflows)
def workflows() -> Response:
    """Every workflow that jobs can name, also those that are not public."""
    views = [
        {
            "name": one.name,
            "description": one.description,
            "public": one.public,
            "origin": None if one.source is None else one.source.origin,
            "stages": one.stages,
            "artifacts": one.artifacts,
            "input_schema": one.input_schema,
            "output_schema": one.output_schema,
        }
        for one in registry.known()
    ]
    return shapes.answer({"workflows": views, "broken": [asdict(one) for one in registry.broken()]})


@router.get("/audit", response_model=schemas.Audit)
def read_audit(
    serving: Serving,
    wanted: Annotated[AuditQuery, Query()],
) -> Response:
    """Every act, refused ones too, oldest first unless the newest are asked for."""
    asked = audit.Wanted(wanted.act, wanted.actor, wanted.job_id, wanted.refused)
    with serving.database.read() as tx:
        if wanted.newest:
            found = audit.read_before(tx, wanted.before, wanted.limit, asked)
        else:
            found = audit.read_after(tx, wanted.after, wanted.limit, asked)
    next_page = found[-1]["id"] if len(found) == wanted.limit else None
    return shapes.answer({"acts": [shapes.audit_row(row) for row in found], "next": next_page})
