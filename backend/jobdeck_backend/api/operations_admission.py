"""The operations API's admissions: what a new job would meet, and many submitted at once."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError
from sqlalchemy import Connection

from jobdeck_backend.api import admission_schemas as schemas
from jobdeck_backend.api import shapes
from jobdeck_backend.api.failures import operations_detail
from jobdeck_backend.api.jobs_schemas import SubmitRequest
from jobdeck_backend.api.requests import checked, workflow_named
from jobdeck_backend.api.services import Services, Serving, admit
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.clock import now
from jobdeck_backend.commands.admission import read_line, weigh_strict, why_unattainable
from jobdeck_backend.commands.submission import NewJob, admission_of
from jobdeck_backend.errors import DeadlineUnattainable, InvalidInput, JobdeckError
from jobdeck_backend.jobs.admission import Line
from jobdeck_backend.jobs.forecast import Ahead
from jobdeck_backend.jobs.records import NO_DEADLINE
from jobdeck_backend.store import queues
from jobdeck_backend.workflows import registry

ID_SHOWN_CHARS = 100
router = APIRouter(prefix="/v1/ops", tags=["operations API: admissions"])


@router.get(
    "/forecast", response_model=schemas.ForecastView, responses={400: {"description": "unknown workflow"}}
)
def forecast(
    serving: Serving,
    agent_type: Annotated[str | None, Query(description="ask about a strict job of this workflow")] = None,
    deadline_seconds: Annotated[float, Query(gt=0, le=31_536_000, allow_inf_nan=False)] = 3600.0,
    priority: Annotated[int, Query(ge=-1000, le=1000)] = 0,
) -> Response:
    """When a job submitted now would be done, and whether a deadline could be promised. Nothing is stored."""
    at = now()
    asked = None if agent_type is None else workflow_named(agent_type)
    known = [one for one in registry.known() if not one.internal]
    with serving.database.read() as tx:
        line = read_line(tx, [one.name for one in known], at, serving.terms())
        names = [one.name for one in known if one.public or _is_used(one.name, line)]
        paused = queues.paused(tx)
        answer = {
            **_whole(line),
            "workflows": [_of_workflow(name, line, paused=name in paused) for name in names],
            "asked": asked and _asked(tx, serving, asked.name, at + deadline_seconds, priority, at),
        }
    return shapes.answer(answer)


def _is_used(name: str, line: Line) -> bool:
    """Whether a workflow that is not offered has jobs all the same."""
    return line.times[name].count > 0 or any(one.workflow == name for one in line.ahead)


def _whole(line: Line) -> dict[str, Any]:
    return {
        "at": zulu_iso(line.now),
        "slots": line.slots,
        "unfinished": len(line.ahead) + len(line.stuck),
        "stuck": len(line.stuck),
        "drain_seconds": line.forecast(line.ahead).drain_seconds,
    }


def _of_workflow(name: str, line: Line, *, paused: bool) -> dict[str, Any]:
    """``paused``: whether the queue is that its jobs go to unless they name another."""
    last = Ahead("", name, order=(NO_DEADLINE, 0, line.now))
    finish = None if paused else line.forecast([*line.ahead, last]).finishes.get("")
    return {
        "workflow": name,
        "service_time": shapes.service_time(line.times[name]),
        "predicted_finish": zulu_iso(finish),
    }


def _asked(
    tx: Connection, serving: Services, workflow: str, deadline: float, priority: int, at: float
) -> dict[str, Any]:
    new = NewJob(agent_type=workflow, input="", queue=workflow, deadline=deadline, priority=priority)
    weighed = weigh_strict(tx, admission_of(new, "", at), (), serving.terms())
    return {
        "workflow": workflow,
        "deadline": zulu_iso(deadline),
        "predicted_finish": zulu_iso(weighed.finish),
        "attainable": weighed.holds,
        "reason": None if weighed.holds else why_unattainable(deadline, weighed),
        "offer": None if weighed.offer is None else {"deadline": zulu_iso(weighed.offer)},
    }


@router.post("/jobs/batch", response_model=schemas.BatchResults)
async def batch(request: schemas.BatchRequest, serving: Serving) -> Response:
    """Submit many jobs: each is admitted, offered another deadline or refused by itself, in their order."""
    # Handed to the writer in order, all before the first is awaited: they share its transactions.
    results = await asyncio.gather(*(_one(serving, body) for body in request.jobs))
    counts = {
        kind: sum(one["result"] == kind for one in results) for kind in ("admitted", "offered", "refused")
    }
    return shapes.answer({"results": results, **counts})


async def _one(serving: Services, body: dict[str, Any]) -> dict[str, Any]:
    blank = dict.fromkeys(("deadline", "offer", "code", "message"))
    job_id = body.get("job_id")
    asked_id = (
        job_id[:ID_SHOWN_CHARS].encode("utf-8", "replace").decode() if isinstance(job_id, str) else None
    )
    try:
        asked = _parsed(body)
        workflow = workflow_named(asked.agent_type)
        new = checked(
            serving, asked, workflow, asked.input, job_id=asked.job_id, expiry_seconds=asked.expiry_seconds
        )
        admission = await admit(serving, new)
    except JobdeckError as error:
        detail = operations_detail(error)
        kind = "offered" if isinstance(error, DeadlineUnattainable) and error.offer is not None else "refused"
        return {"result": kind, "job_id": asked_id, **{name: detail.get(name) for name in blank}}
    return {
        "result": "admitted",
        "job_id": admission.job_id,
        **blank,
        "deadline": zulu_iso(admission.deadline),
    }


def _parsed(body: dict[str, Any]) -> SubmitRequest:
    try:
        return SubmitRequest.model_validate(body)
    except ValidationError as invalid:
        problems = invalid.errors(include_url=False, include_input=False, include_context=False)
        words = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problems[:5])
        raise InvalidInput(words) from None
