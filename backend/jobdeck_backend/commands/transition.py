"""The one way a job changes status: advance, guarded write, transition on record, event. One transaction.

What the job's caller is to be told of it is owed from the same transaction on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from jobdeck_backend.commands import callback
from jobdeck_backend.errors import Changed, JobNotFound
from jobdeck_backend.jobs.lifecycle import OUTCOMES, RAISES_FENCE, Verb, advance
from jobdeck_backend.jobs.records import Admission, Job, NewEvent, Status, Transition
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


@dataclass(frozen=True, slots=True)
class Moved:
    """A change of status that was written, with what is to be put on record of it in the same transaction."""

    before: Job
    after: Job
    verb: Verb
    at: float
    actor: str
    reason: str | None
    told: Sequence[NewEvent]


def move(tx: Connection, job: Job, verb: Verb, **change_: Any) -> Job:
    """``change`` a job and put that on record; the job as it is now."""
    moved = change(tx, job, verb, **change_)
    put_on_record(tx, [moved])
    return moved.after


def change(
    tx: Connection,
    job: Job,
    verb: Verb,
    *,
    now: float,
    actor: str,
    told: Sequence[NewEvent],
    reason: str | None = None,
    **columns: Any,
) -> Moved:
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
    told = [*told[:-1], replace(told[-1], status=status)]
    return Moved(job, replace(job, event_seq=last, **changed), verb, now, actor, reason, told)


def put_on_record(tx: Connection, moves: Sequence[Moved]) -> None:
    """The transitions, events and outcomes of changes, and what is owed of them: few statements for many."""
    jobs.insert_transitions(tx, [_transition(one) for one in moves])
    events.insert(
        tx,
        [
            row
            for one in moves
            for row in events.rows(one.after.job_id, one.after.event_seq, one.told, one.at)
        ],
    )
    unended = [
        one.after.job_id
        for one in moves
        if one.before.status is Status.RUNNING and one.verb is not Verb.SUCCEED
    ]
    effects.leave_uncertain(tx, unended)
    for one in moves:
        verb, job_id = one.verb, one.after.job_id
        if verb in OUTCOMES:
            jobs.update_admission(
                tx, job_id, outcome=OUTCOMES[verb], outcome_reason=one.reason, finished_at=one.at
            )
        callback.owe(tx, one.after, verb, one.reason, one.at)


def _transition(one: Moved) -> Transition:
    return Transition(
        job_id=one.after.job_id,
        at=one.at,
        from_status=one.before.status,
        to_status=one.after.status,
        name=one.verb,
        fence=one.after.fence,
        actor=one.actor,
        reason=one.reason,
    )
