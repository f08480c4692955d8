"""The operations API's storage: what it holds, what may go, and a copy of it."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse
from sqlalchemy.exc import DBAPIError
from starlette.background import BackgroundTask

from jobdeck_backend.api import caller, shapes
from jobdeck_backend.api import storage_schemas as schemas
from jobdeck_backend.api.operations_acts import UNSAID
from jobdeck_backend.api.schemas import Act
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import JobdeckError, NotEligible, NotFound
from jobdeck_backend.store import retention, space
from jobdeck_backend.upkeep.backup import UNFINISHED, back_up
from jobdeck_backend.upkeep.pruner import Pruning

router = APIRouter(prefix="/v1/ops", tags=["operations API: storage"])

DATABASE = "application/vnd.sqlite3"
WEEK_S = 7 * 86_400.0
PRUNE: dict[int | str, dict[str, Any]] = {
    202: {"description": "it has begun", "model": schemas.Pruning},
    409: {"description": "a pruning is under way"},
    503: {"description": "the database cannot be written"},
}
BACKUP: dict[int | str, dict[str, Any]] = {
    200: {"content": {DATABASE: {"schema": {"type": "string", "format": "binary"}}}},
    409: {"description": "a PostgreSQL database"},
    503: {"description": "the database cannot be written"},
    507: {"description": "no room for a copy"},
}


@router.get("/storage", response_model=schemas.Storage)
async def storage(
    serving: Serving,
    older_than_seconds: Annotated[
        float, Query(ge=0, le=schemas.AGE_S_MAX, description="for what pruning would remove")
    ] = WEEK_S,
) -> Response:
    """What is stored and what it takes. Reads all of it: not a thing to ask every second."""
    measured = await asyncio.to_thread(_measure, serving)
    pruner = serving.pruner
    preview = await pruner.preview(older_than_seconds)
    return shapes.answer(
        {
            "state": shapes.storage(serving.database.condition.trouble),
            **measured,
            "retention_seconds": serving.settings.retention_s,
            "prunable": _pruning(preview),
            "last_pruning": None if pruner.last is None else _pruning(pruner.last),
        }
    )


def _measure(serving: Services) -> dict[str, Any]:
    with serving.database.read() as tx:
        taken = space.measure(tx, serving.database.path)
        return {
            "space": None if taken is None else asdict(taken),
            "kinds": retention.sizes(tx),
            "unfinished": retention.unfinished(tx),
        }


@router.post("/prune", response_model=schemas.Pruning, responses=PRUNE)
async def prune(request: schemas.Prune, serving: Serving) -> Response:
    """Begin to remove finished jobs; `GET` tells how far it is. With `dry_run`: what would be removed."""
    if request.dry_run:
        return shapes.answer(_pruning(await serving.pruner.preview(request.older_than_seconds)))
    by = operators.By(caller.operator(), now(), request.reason)
    begun = await serving.pruner.begin(request.older_than_seconds, by)
    serving.feed.wake()
    return shapes.answer(_pruning(begun), status_code=202)


@router.get(
    "/prune", response_model=schemas.Pruning, responses={404: {"description": "none since the start"}}
)
async def pruning(serving: Serving) -> Response:
    """The pruning under way, else the last one since the start."""
    if serving.pruner.last is None:
        raise NotFound("nothing was pruned since the server's start")
    return shapes.answer(_pruning(serving.pruner.last))


@router.post(
    "/backup",
    response_class=FileResponse,
    responses=BACKUP,
)
async def backup(serving: Serving, act: Act = UNSAID) -> FileResponse:
    """A copy of the database as it is now, checked, as a file to restore from; nobody waits for it."""
    path = serving.database.path
    if path is None:
        raise NotEligible("a PostgreSQL database is backed up by pg_dump; nothing was done")
    copy = serving.settings.state_dir / UNFINISHED.replace("*", uuid4().hex)
    by = operators.By(caller.operator(), now(), act.reason)
    try:
        made = await asyncio.to_thread(back_up, path, copy)
    except (JobdeckError, DBAPIError):
        copy.unlink(missing_ok=True)
        await _note(serving, "no backup was made", by)
        raise
    await _note(serving, f"{made.copied.bytes} bytes, sha256 {made.copied.sha256}", by)
    headers = {
        "X-Jobdeck-Sha256": made.copied.sha256,
        "X-Jobdeck-Violations": str(len(made.violations)),
        "Content-Disposition": 'attachment; filename="jobdeck.db"',
    }
    return FileResponse(copy, media_type=DATABASE, headers=headers, background=BackgroundTask(copy.unlink))


async def _note(serving: Services, result: str, by: operators.By) -> None:
    await serving.writer.submit(operators.note, "backup", result, by)


def _pruning(one: Pruning) -> dict[str, Any]:
    return {
        "state": one.state,
        "before": zulu_iso(one.before),
        "started_at": zulu_iso(one.started_at),
        "ended_at": zulu_iso(one.ended_at),
        "jobs": one.jobs_total,
        "events": one.events_total,
        "removed": dict(one.removed),
        "freed_bytes": one.freed_bytes,
        "error": one.error,
    }
