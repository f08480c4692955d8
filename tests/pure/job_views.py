"""Rows of jobs made by hand."""

from typing import Any

from jobdeck_backend.jobs.records import Status
from jobdeck_backend.jobs.view import JobSource, JobView, Predecessor, view_of

NOW = 1_000_000.0

_OUTCOME_STATUS = {
    "succeeded": Status.SUCCESS,
    "failed": Status.FAILURE,
    "cancelled": Status.INTERRUPTED,
    "expired": Status.INTERRUPTED,
}


def source(job_id: str = "job-1", **columns: Any) -> JobSource:
    """A submitted job of the workflow ``probe``; ``outcome`` brings its status along."""
    known: dict[str, Any] = dict.fromkeys(JobSource._fields)
    known |= {
        "job_id": job_id,
        "thread_id": job_id,
        "workflow": "probe",
        "queue": "probe",
        "priority": 0,
        "accepted_at": NOW - 60,
        "status": Status.SUBMITTED,
        "attempt": 0,
        "version": 1,
        "stages_done": 0,
    }
    if "outcome" in columns:
        known |= {"status": _OUTCOME_STATUS[columns["outcome"]], "finished_at": NOW - 1}
    return JobSource(**known | columns)


def view(
    job_id: str = "job-1",
    *,
    dask_state: str | None = None,
    predicted_finish: float | None = None,
    waits_for: tuple[Predecessor, ...] = (),
    **columns: Any,
) -> JobView:
    """The same as an operator sees it."""
    made = source(job_id, **columns)
    return view_of(made, waits_for, dask_state=dask_state, predicted_finish=predicted_finish)


def running(job_id: str = "job-1", **columns: Any) -> JobView:
    """A job that a worker executes."""
    started = {
        "status": Status.RUNNING,
        "attempt": 1,
        "worker": "w0-e1",
        "epoch": 1,
        "delivered_epoch": 1,
        "started_at": NOW - 10,
        "heartbeat_at": NOW - 2,
    }
    return view(job_id, **started | columns)


OPEN = Predecessor("before-1", Status.RUNNING, finished=False)
DONE = Predecessor("before-2", Status.SUCCESS, finished=True)
