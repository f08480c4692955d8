"""The jobs API's reports: reading one, and asking for an edited one."""

from typing import Any

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from jobdeck_backend.api import jobs_schemas as schemas
from jobdeck_backend.api.requests import checked_text
from jobdeck_backend.api.services import NOT_FOUND, Services, Serving, admit
from jobdeck_backend.commands.submission import NewJob
from jobdeck_backend.commands.transition import load
from jobdeck_backend.errors import NotEditable
from jobdeck_backend.jobs.records import Job, Status
from jobdeck_backend.workflows.registry import REPORT_REWRITER, REWRITE_STAGES

router = APIRouter(prefix="/v1/jobs/async", tags=["jobs API"])

EDIT_REFUSALS: dict[int | str, dict[str, Any]] = {
    **NOT_FOUND,
    409: {"description": "the parent has no finished report, or the id is taken"},
    413: {"description": "the input is too large"},
    422: {"description": "a field cannot be used"},
    429: {"description": "the caller has too many jobs; Retry-After says when to come again"},
    503: {"description": "the server takes no more jobs now; Retry-After says when to come again"},
}


@router.get("/job/{job_id}/report", response_model=schemas.Report, responses=NOT_FOUND)
def report(job_id: str, serving: Serving) -> dict[str, Any]:
    """The final report, at any status."""
    with serving.database.read() as tx:
        admission, job = load(tx, job_id)
    text = _text(job)
    return {
        "job_id": job_id,
        "has_report": text is not None,
        "report": text,
        "parent_job_id": admission.parent_job_id,
        "interaction_action": None if admission.parent_job_id is None else "edit",
        "result_kind": None if text is None else "report",
    }


@router.post("/job/{job_id}/report/edit", response_model=schemas.Edited, responses=EDIT_REFUSALS)
async def edit(job_id: str, request: schemas.EditRequest, serving: Serving) -> dict[str, Any]:
    """Have a finished report changed, by a job of its own."""
    instruction = checked_text(serving, request.input)
    report = await run_in_threadpool(_finished_report, serving, job_id)
    new = NewJob(
        agent_type=REPORT_REWRITER,
        input=orjson.dumps({"instruction": instruction, "report": report}).decode(),
        queue=REPORT_REWRITER,
        job_id=request.job_id,
        expiry_seconds=schemas.EXPIRY_SECONDS if request.expiry_seconds is None else request.expiry_seconds,
        stages_total=len(REWRITE_STAGES),
        parent_job_id=job_id,
    )
    admission = await admit(serving, new)
    return {
        "job_id": admission.job_id,
        "parent_job_id": job_id,
        "status": "submitted",
        "agent_type": REPORT_REWRITER,
    }


def _finished_report(serving: Services, job_id: str) -> str:
    """The report of a job that succeeded, which never changes again. Raises ``NotEditable``."""
    with serving.database.read() as tx:
        _admission, job = load(tx, job_id)
    if job.status is not Status.SUCCESS:
        raise NotEditable(f"Parent job is not complete: {job_id}")
    text = _text(job)
    if text is None:
        raise NotEditable(f"Parent job has no durable report: {job_id}")
    return text


def _text(job: Job) -> str | None:
    text: str | None = orjson.loads(job.output).get("report") if job.output else None
    return text
