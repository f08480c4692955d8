"""The jobs API: submit, status, stream, cancel, state, agents, data sources."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Response
from sse_starlette import EventSourceResponse

from jobdeck_backend.api import caller, failures
from jobdeck_backend.api import jobs_schemas as schemas
from jobdeck_backend.api.event_stream import respond
from jobdeck_backend.api.quick_route import QuickRoute
from jobdeck_backend.api.requests import checked, workflow_named
from jobdeck_backend.api.schemas import Number
from jobdeck_backend.api.services import NOT_FOUND, Services, Serving, admit
from jobdeck_backend.api.state import rebuild
from jobdeck_backend.api.streams import job_frames, place_of
from jobdeck_backend.api.times import offset_iso
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.commands.transition import load
from jobdeck_backend.errors import InvalidInput, JobNotFound, NotEligible, Refused
from jobdeck_backend.store import jobs
from jobdeck_backend.workflows import registry

router = APIRouter(prefix="/v1/jobs/async", tags=["jobs API"])
quick = APIRouter(
    prefix="/v1/jobs/async", tags=["jobs API"], route_class=QuickRoute, responses=failures.DOCUMENTED
)

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "unknown workflow"},
    409: {"description": "the id belongs to another job, or a strict deadline cannot be met"},
    413: {"description": "the input is too large"},
    422: {"description": "a field cannot be used"},
    429: {"description": "the caller has too many jobs; Retry-After says when to come again"},
    503: {"description": "the server takes no more jobs now, or the database cannot be written; Retry-After"},
    507: {"description": "the disk is full"},
}


@quick.post("/submit", status_code=202, response_model=schemas.Submitted, responses=REFUSALS)
async def submit_job(request: schemas.SubmitRequest, serving: Serving) -> Response:
    """Accept a job: one durable write, which needs no Dask (R4)."""
    new = checked(
        serving,
        request,
        workflow_named(request.agent_type),
        request.input,
        job_id=request.job_id,
        expiry_seconds=request.expiry_seconds,
    )
    admission = await admit(serving, new)
    answer: dict[str, Any] = {
        "job_id": admission.job_id,
        "status": "submitted",
        "agent_type": admission.agent_type,
        "error": None,
        "created_at": offset_iso(admission.accepted_at),
    }
    if admission.deadline is not None:
        answer["deadline"] = offset_iso(admission.deadline)
    return Response(orjson.dumps(answer), status_code=202, media_type="application/json")


@quick.get("/job/{job_id}", response_model=schemas.JobStatus, responses=NOT_FOUND)
async def job_status(job_id: str, serving: Serving) -> Response:
    """What the record says of a job."""
    status = await serving.look(lambda tx: jobs.load_status(tx, job_id))
    if status is None:
        raise JobNotFound(job_id)
    answer = {
        "job_id": job_id,
        "status": status["status"],
        "agent_type": status["agent_type"],
        "error": status["error"],
        "created_at": offset_iso(status["accepted_at"]),
        "outcome": status["outcome"],
        "deadline": offset_iso(status["deadline"]),
        "thread_id": status["thread_id"],
        "attempt": status["attempt"],
        "started_at": offset_iso(status["started_at"]),
        "finished_at": offset_iso(status["finished_at"]),
        "worker": status["worker"],
    }
    return Response(orjson.dumps(answer), media_type="application/json")


EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
    **NOT_FOUND,
}


@router.get("/job/{job_id}/stream", response_class=EventSourceResponse, responses=EVENT_STREAM)
async def stream(
    job_id: str, serving: Serving, last_event_id: Annotated[str | None, Header()] = None
) -> EventSourceResponse:
    """A job's events, from the start or after the ``Last-Event-ID`` header."""
    return await _stream(serving, job_id, 0, last_event_id)


@router.get("/job/{job_id}/stream/{cursor}", response_class=EventSourceResponse, responses=EVENT_STREAM)
async def stream_after(
    job_id: str,
    cursor: Number,
    serving: Serving,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """A job's events after a cursor; with a header too, the greater of both."""
    return await _stream(serving, job_id, cursor, last_event_id)


async def _stream(serving: Services, job_id: str, cursor: int, header: str | None) -> EventSourceResponse:
    if header:  # empty: of a reader that has seen nothing yet
        seen = place_of(header)
        if seen is None:
            raise InvalidInput("Last-Event-ID must be the id of an event of this stream")
        cursor = max(cursor, seen)
    await asyncio.to_thread(_must_exist, serving, job_id)
    return respond(job_frames(serving.streaming, job_id, cursor))


def _must_exist(serving: Services, job_id: str) -> None:
    with serving.database.read() as tx:
        load(tx, job_id)


@router.post(
    "/job/{job_id}/cancel",
    response_model=schemas.Cancelled,
    responses={400: {"description": "the job is finished"}, **NOT_FOUND},
)
async def cancel(job_id: str, serving: Serving) -> dict[str, Any]:
    """Cancel a submitted or running job; a finished one is never touched (R15)."""
    by = operators.By(actor=caller.owner() or "caller", now=now())
    result = await serving.writer.submit(operators.act, "cancel", job_id, operators.cancel, by)
    if isinstance(result, NotEligible):
        raise Refused(result.message)  # this contract answers 400
    if isinstance(result, Refused):
        raise result
    return {"job_id": job_id, "status": "interrupted", "task_cancelled": result == "cancelled"}


@router.get("/job/{job_id}/state", response_model=schemas.JobState, responses=NOT_FOUND)
def state(job_id: str, serving: Serving) -> dict[str, Any]:
    """Tools, outputs, sources and todos, rebuilt from all stored events."""
    with serving.database.read() as tx:
        load(tx, job_id)
        artifacts = rebuild(tx, job_id)
    return {"job_id": job_id, "has_state": artifacts is not None, "state": None, "artifacts": artifacts}


@router.get("/agents")
def agents() -> dict[str, list[dict[str, Any]]]:
    """The public workflows."""
    views = [
        {
            "agent_type": one.name,
            "description": one.description,
            "input_schema": one.input_schema,
            "output_schema": one.output_schema,
        }
        for one in registry.known()
        if one.public
    ]
    return {"agents": views}


sources_router = APIRouter(prefix="/v1", tags=["jobs API"])


@sources_router.get("/data_sources", response_model=list[schemas.DataSource])
def data_sources() -> list[dict[str, Any]]:
    """What workflows can read from."""
    return [asdict(one) for one in registry.DATA_SOURCES]
