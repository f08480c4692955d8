"""An operator's acts on the line of jobs: move one in it, and submit one's request again."""

import orjson
from sqlalchemy import Connection

from jobdeck_backend.commands import notices
from jobdeck_backend.commands.operators import By, Perform
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import NotEligible
from jobdeck_backend.jobs.records import Admission, Job, Status
from jobdeck_backend.store import dispatch, events, jobs


def prioritise(priority: int) -> Perform:
    """The act of moving a job in the line: among equal deadlines the higher priority goes first.

    A job that Dask holds already goes back to the backlog, since Dask keeps the order it was given.
    """

    def perform(tx: Connection, admission: Admission, job: Job, by: By) -> str:
        if job.status is not Status.SUBMITTED:
            how = f"has ended ({admission.outcome})" if job.status.terminal else "runs"
            raise NotEligible(f"job {job.job_id} {how}: it has no place in the line")
        jobs.update_job(tx, job, priority=priority, version=job.version + 1)
        dispatch.take_back(tx, [job.job_id])
        text = f"priority moved from {job.priority} to {priority} by {by.actor}"
        told = notices.notice("priority", by.now, text, old=job.priority, new=priority, reason=by.reason)
        events.append(tx, job.job_id, [told], by.now)
        return text

    return perform


def clone(new_id: str) -> Perform:
    """The act of submitting a job's request again as a job of its own, on a thread of its own.

    It waits for the same predecessors; its window is as long as the old one was, from now.
    """

    def perform(tx: Connection, admission: Admission, job: Job, by: By) -> str:
        window = None if admission.deadline is None else admission.deadline - admission.accepted_at
        sources = admission.data_sources
        again = NewJob(
            agent_type=admission.agent_type,
            input=admission.input,
            queue=admission.queue,
            job_id=new_id,
            owner=admission.owner,
            data_sources=None if sources is None else tuple(orjson.loads(sources)),
            expiry_seconds=admission.expiry_seconds,
            deadline_seconds=window,
            priority=job.priority,
            after=tuple(name for name, _status, _output in jobs.load_predecessors(tx, job.job_id)),
            after_policy=admission.after_policy,
            stages_total=job.stages_total,
            callback_url=admission.callback_url,
        )
        submit(tx, again, by.now)
        return f"submitted again as {new_id}"

    return perform
