"""The workflow API: submit with a bounded wait, status and result; by both of its path pairs."""

import asyncio
from typing import Any

import orjson
from fastapi import APIRouter, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool

from jobdeck_backend.api import caller, shapes
from jobdeck_backend.api import workflow_schemas as schemas
from jobdeck_backend.api.requests import checked, workflow_named
from jobdeck_backend.api.services import Services, Serving, admit
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.clock import now
from jobdeck_backend.commands.transition import load
from jobdeck_backend.errors import InvalidInput, JobExists, JobNotFound, NotFound
from jobdeck_backend.jobs.ids import new_id
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.store import jobs
from jobdeck_backend.store.tailer import Subscription
from jobdeck_backend.workflows.registry import Workflow

router = APIRouter(tags=["workflow API"])

SUBMIT: dict[int | str, dict[str, Any]] = {
    200: {
        "model": schemas.AsyncGenerationStatusResponse | schemas.KnownJobResponse,
        "description": "it ended within sync_timeout; or the id was known and nothing was started",
    },
    202: {"model": schemas.AsyncGenerateResponse, "description": "accepted"},
    400: {"description": "unknown workflow, or a body that is not UTF-8"},
    409: {"description": "a strict deadline cannot be met, or the thread has an unfinished job"},
    413: {"description": "the input is too large"},
    422: {"description": "a field cannot be used"},
    429: {"description": "the caller has too many jobs; Retry-After says when to come again"},
    503: {"description": "the server takes no more jobs now; Retry-After says when to come again"},
}
STATUS: dict[int | str, dict[str, Any]] = {404: {"description": "no such job"}}


@router.post("/v1/workflow/async", response_model=None, status_code=202, responses=SUBMIT)
@router.post("/generate/async", response_model=None, status_code=202, responses=SUBMIT)
async def submit(request: schemas.AsyncGenerateRequest, serving: Serving) -> Response:
    """Accept a job and, for up to ``sync_timeout`` seconds, wait for its end. A known id starts nothing (R2)."""
    job_id = request.job_id or new_id(now())
    workflow = workflow_named(request.workflow)
    new = checked(
        serving,
        request,
        workflow,
        _input(request, workflow),
        job_id=job_id,
        expiry_seconds=request.expiry_seconds,
    )
    with serving.streaming.tailer.subscribe(job_id) as subscription:
        try:
            await admit(serving, new)
        except JobExists as known:
            if not known.details:
                raise  # another's
            return await run_in_threadpool(_known, serving, job_id, **known.details)
        timeout_s = min(request.sync_timeout, caller.known_for_s())
        ended = await _end_within(serving, job_id, subscription, timeout_s)
    if ended:
        return await run_in_threadpool(_status, serving, job_id)
    return shapes.answer({"job_id": job_id, "status": Status.SUBMITTED}, status_code=202)


@router.get(
    "/v1/workflow/async/job/{job_id}", response_model=schemas.AsyncGenerationStatusResponse, responses=STATUS
)
@router.get(
    "/generate/async/job/{job_id}", response_model=schemas.AsyncGenerationStatusResponse, responses=STATUS
)
def status(job_id: str, serving: Serving) -> Response:
    """What the record says of a job, with its output once it succeeded."""
    return _status(serving, job_id)


def _input(request: schemas.AsyncGenerateRequest, workflow: Workflow) -> str:
    """The workflow's input: a text, or the fields of its schema as JSON."""
    if workflow.input_schema.get("type") == "object":
        given = {} if request.input_message is None else {"input_message": request.input_message}
        try:
            return orjson.dumps({**(request.model_extra or {}), **given}).decode()
        except orjson.JSONEncodeError as error:
            raise InvalidInput(f"the workflow's fields cannot be stored: {error}") from None
    if request.input_message is None:
        missing = {"type": "missing", "loc": ("body", "input_message"), "msg": "Field required", "input": {}}
        raise RequestValidationError([missing])
    return request.input_message


async def _end_within(serving: Services, job_id: str, subscription: Subscription, timeout_s: float) -> bool:
    """Whether the job ended within so many seconds. Waits for the tailer's word: no thread, no database (R5)."""
    if timeout_s <= 0:
        return False
    try:
        async with asyncio.timeout(timeout_s):
            while not serving.streaming.stopping.is_set():
                await subscription.wait()
                batches, behind = subscription.take()
                if any(batch.has_end for batch in batches):
                    return True
                if behind and await run_in_threadpool(_has_ended, serving, job_id):
                    return True
    except TimeoutError:
        pass
    return False


def _has_ended(serving: Services, job_id: str) -> bool:
    with serving.database.read() as tx:
        return load(tx, job_id)[1].status.terminal


def _known(serving: Services, job_id: str, *, request_matches: bool) -> Response:
    with serving.database.read() as tx:
        job = load(tx, job_id)[1]
    return shapes.answer({"job_id": job_id, "status": job.status, "request_matches": request_matches})


def _status(serving: Services, job_id: str) -> Response:
    with serving.database.read() as tx:
        try:
            admission, job = load(tx, job_id)
        except JobNotFound:
            raise NotFound(f"Job {job_id} not found") from None
        updated_at = admission.finished_at or jobs.last_transition_at(tx, job_id)
    ended_at = admission.finished_at
    return shapes.answer(
        {
            "job_id": job_id,
            "status": job.status,
            "error": job.error,
            "created_at": zulu_iso(admission.accepted_at),
            "updated_at": zulu_iso(updated_at),
            "expires_at": None if ended_at is None else zulu_iso(ended_at + admission.expiry_seconds),
            "output": _output(job.output),
        }
    )


def _output(stored: str | None) -> dict[str, Any] | None:
    """An object whatever the workflow gave: fields as they are, a text as ``value`` and its data beside it."""
    if stored is None:
        return None
    output = orjson.loads(stored)
    report, data = output.get("report"), output.get("data")
    if report is not None and not (isinstance(data, dict) and report in data.values()):
        return {"value": report} if data in (None, report) else {"value": report, "data": data}
    return data if isinstance(data, dict) else {"value": data}
