"""The operations API's acts on one job: cancel, expire, resume, grant."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from jobdeck_backend.api import schemas, shapes
from jobdeck_backend.api.services import Services, services
from jobdeck_backend.api.times import parse
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import InvalidInput, Refused

router = APIRouter(prefix="/v1/ops", tags=["operations API: acts"])
Serving = Annotated[Services, Depends(services)]

OPERATOR = "operator"
UNSAID = schemas.Act()
"""An act without a body: no reason, whatever the version."""

ACT: dict[int | str, dict[str, Any]] = {
    404: {"description": "no such job"},
    409: {"description": "not_eligible, deadline_passed or changed; `current` is the row as it is now"},
    422: {"description": "a field cannot be used"},
    503: {"description": "the database cannot be written"},
}


@router.post("/jobs/{job_id}/cancel", response_model=schemas.JobRow, responses=ACT)
async def cancel(job_id: str, serving: Serving, act: schemas.Act = UNSAID) -> Response:
    """Cancel an unfinished job."""
    return await _act(serving, "cancel", job_id, operators.cancel, act)


@router.post("/jobs/{job_id}/expire", response_model=schemas.JobRow, responses=ACT)
async def expire(job_id: str, serving: Serving, act: schemas.Act = UNSAID) -> Response:
    """End an unfinished job's usefulness now."""
    return await _act(serving, "expire", job_id, operators.expire, act)


@router.post("/jobs/{job_id}/resume", response_model=schemas.JobRow, responses=ACT)
async def resume(job_id: str, serving: Serving, act: schemas.Act = UNSAID) -> Response:
    """Run a held, failed, cancelled or expired job again on its thread, while it has time left."""
    return await _act(serving, "resume", job_id, operators.resume, act)


@router.post("/jobs/{job_id}/grant", response_model=schemas.JobRow, responses=ACT)
async def grant(job_id: str, grant: schemas.Grant, serving: Serving) -> Response:
    """Grant a later deadline."""
    if (grant.deadline is None) == (grant.extend_seconds is None):
        raise InvalidInput("give deadline or extend_seconds, one of both")
    if grant.deadline is not None:
        absolute = parse(grant.deadline, "deadline")
        perform = operators.grant_until(lambda _admission, _now: absolute)
    else:
        extend_s = grant.extend_seconds or 0.0
        perform = operators.grant_until(lambda admission, at: max(admission.deadline or at, at) + extend_s)
    return await _act(serving, "grant", job_id, perform, grant)


async def _act(
    serving: Services, name: str, job_id: str, perform: operators.Perform, act: schemas.Act
) -> Response:
    by = operators.By(OPERATOR, now(), act.reason, act.version)
    result = await asyncio.wrap_future(serving.writer.submit(operators.act, name, job_id, perform, by))
    serving.feed.wake()
    views = await asyncio.to_thread(serving.board.load, [job_id])
    row = shapes.job_row(views[0], now()) if views else None
    if isinstance(result, Refused):
        if row is not None:
            result.details["current"] = row
        raise result
    return shapes.answer(row)
