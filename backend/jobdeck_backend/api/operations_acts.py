"""The operations API's acts on one job: cancel, expire, resume, grant, move, clone, a verdict on an effect."""

import asyncio
from typing import Any

from fastapi import APIRouter, Response

from jobdeck_backend.api import act_schemas, caller, schemas, shapes
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.api.times import parse
from jobdeck_backend.clock import now
from jobdeck_backend.commands import callback, effects, line, operators
from jobdeck_backend.errors import InvalidInput, NotFound, Refused
from jobdeck_backend.jobs.ids import new_id
from jobdeck_backend.jobs.records import EffectState
from jobdeck_backend.store import effects as ledger
from jobdeck_backend.store import notifications

router = APIRouter(prefix="/v1/ops", tags=["operations API: acts"])

UNSAID = schemas.Act()
SAME = act_schemas.Clone()
"""An act without a body: no reason, whatever the version."""

ACT: dict[int | str, dict[str, Any]] = {
    404: {"description": "no such job, or it has no such effect"},
    409: {
        "description": "not_eligible, deadline_passed, effect_uncertain or changed; `current` is the row now"
    },
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
        perform = grant_by(grant.extend_seconds or 0.0)
    return await _act(serving, "grant", job_id, perform, grant)


def grant_by(extend_s: float) -> operators.Perform:
    """The act of granting so many seconds more: from the deadline, or from now where it has passed."""
    return operators.grant_until(lambda admission, at: max(admission.deadline or at, at) + extend_s)


@router.post("/jobs/{job_id}/priority", response_model=schemas.JobRow, responses=ACT)
async def prioritise(job_id: str, wanted: act_schemas.Priority, serving: Serving) -> Response:
    """Move a job that waits for its start in the line."""
    row = await _perform(serving, "priority", job_id, line.prioritise(wanted.priority), wanted)
    # Dask keeps the order it was given: what it holds is handed over again.
    serving.dispatcher.give_again([job_id])
    return shapes.answer(row)


@router.post("/jobs/{job_id}/clone", status_code=202, response_model=schemas.JobRow, responses=ACT)
async def clone(job_id: str, serving: Serving, wanted: act_schemas.Clone = SAME) -> Response:
    """Submit the same request again under a new id; answers the new job."""
    copy_id = wanted.job_id or new_id(now())
    await _perform(serving, "clone", job_id, line.clone(copy_id), wanted)
    serving.dispatcher.wake()
    (view,) = await asyncio.to_thread(serving.board.load, [copy_id])
    return shapes.answer(shapes.job_row(view, now()), 202)


@router.post("/jobs/{job_id}/effects/{key:path}", response_model=schemas.Effect, responses=ACT)
async def judge(job_id: str, key: str, verdict: schemas.Verdict, serving: Serving) -> Response:
    """Say whether an uncertain effect happened, or that it is to be tried again"""
    perform = effects.verdict(key, EffectState(verdict.verdict), verdict.proof)
    await _perform(serving, "verdict", job_id, perform, verdict)
    return await asyncio.to_thread(_effect, serving, key)


@router.post(
    "/jobs/{job_id}/notifications/{notification_id}/resend",
    response_model=schemas.Notification,
    responses=ACT,
)
async def resend(job_id: str, notification_id: str, serving: Serving, act: schemas.Act = UNSAID) -> Response:
    """Send once more what the job's caller was to be told, after it was given up."""
    await _perform(serving, "resend", job_id, callback.send_again(notification_id), act)
    return await asyncio.to_thread(_notification, serving, notification_id)


def _notification(serving: Services, notification_id: str) -> Response:
    with serving.database.read() as tx:
        return shapes.answer(shapes.notification(notifications.load(tx, notification_id)))


def _effect(serving: Services, key: str) -> Response:
    with serving.database.read() as tx:
        judged = ledger.load(tx, key)
    if judged is None:
        raise NotFound("the job was pruned meanwhile")
    return shapes.answer(shapes.effect(judged))


async def _act(
    serving: Services, name: str, job_id: str, perform: operators.Perform, act: schemas.Act
) -> Response:
    return shapes.answer(await _perform(serving, name, job_id, perform, act))


async def _perform(
    serving: Services, name: str, job_id: str, perform: operators.Perform, act: schemas.Act
) -> dict[str, Any] | None:
    """Do an act and answer the row after it. Raises the ``Refused`` with the row as it is."""
    by = operators.By(caller.operator(), now(), act.reason, act.version)
    result = await serving.writer.submit(operators.act, name, job_id, perform, by)
    serving.feed.wake()
    views = await asyncio.to_thread(serving.board.load, [job_id])
    row = shapes.job_row(views[0], now()) if views else None
    if isinstance(result, Refused):
        if row is not None:
            result.details["current"] = row
        raise result
    return row
