"""The one way a job changes status: advance, guarded write, transition on record, event. One transaction.

What the job's caller is to be told of it is owed from the same transaction on.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from jobdeck_backend.commands import callback
from jobdeck_backend.errors import Changed, JobNotFound
from jobdeck_backend.jobs.lifecycle import OUTCOMES, RAISES_FENCE, Verb, advance
from jobdeck_backend.jobs.records import Admission, Job, NewEvent, Status
from jobdeck_backend.store import effects, events, jobs

UNSTARTED = {"worker": None, "stage": None, "delivered_epoch": None, "delivered_at": None}
"""The columns of a job that nobody executes and Dask does not hold."""


def load(tx: Connection, job_id: str) -> tuple[Admission, Job]:
    """Both records of a job. Raises ``JobNotFound``."""
    # The job first: from then on nobody else changes either.
    job = jobs.load_job(tx, job_id)
    admission = jobs.load_admission(tx, job_id)
    if admission is None or job is None:
        raise JobNotFound(job_id)
    return admission, job


def move(
    tx: Connection,
    job: Job,
    verb: Verb,
    *,
    now: float,
    actor: str,
    told: Sequence[NewEvent],
    reason: str | None = None,
    **columns: Any,
) -> Job:
    """Apply ``verb`` to the job as it was loaded in this transaction.

    The last event of ``told`` carries the new status, so that streams announce it in commit order (R14).
    Raises ``NotEligible`` when the status does not allow the verb, ``Changed`` when somebody was faster.
    """
    status = advance(job.status, verb)
    fence = job.fence + (verb in RAISES_FENCE)
    changed = {"status": status, "fence": fence, "version": job.version + 1, **columns}
    last = jobs.move_job(tx, job, len(told), **changed)
    if last is None:
        raise Changed(f"job {job.job_id} changed meanwhile; nothing was done")
    jobs.insert_transition(
        tx,
        job_id=job.job_id,
        at=now,
        from_status=job.status,
        to_status=status,
        name=verb,
        fence=fence,
        actor=actor,
        reason=reason,
    )
    events.insert(tx, job.job_id, last, [*told[:-1], replace(told[-1], status=status)], now)
    if job.status is Status.RUNNING and verb is not Verb.SUCCEED:
        effects.leave_uncertain(tx, job.job_id)
    if verb in OUTCOMES:
        jobs.update_admission(tx, job.job_id, outcome=OUTCOMES[verb], outcome_reason=reason, finished_at=now)
    moved = replace(job, event_seq=last, **changed)
    callback.owe(tx, moved, verb, reason, now)
    return moved
