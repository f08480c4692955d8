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
from jobdeck_backend.store import effects, events, jobs, notifications

UNSTARTED = {"worker": None, "stage": None, "delivered_epoch": None, "delivered_at": None}
"""The columns of a job that nobody executes and Dask does not hold."""


def load(tx: Connection, job_id: str) -> tuple[Admission, Job]:
    """Both records of a job. Raises ``JobNotFound``."""
    both = jobs.load_both(tx, job_id)
    if both is None:
        raise JobNotFound(job_id)
    return both


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
        url, deadline = _caller(tx, one)
        if url is not None:
            callback.owe(tx, one.after, one.verb, one.reason, one.at, url=url, deadline=deadline)


def _caller(tx: Connection, one: Moved) -> tuple[str | None, float | None]:
    """Where somebody wants to be told of the change, if anywhere, and the job's deadline. Stores the outcome."""
    if one.verb in OUTCOMES:
        return jobs.end_admission(tx, one.after.job_id, OUTCOMES[one.verb], one.reason, one.at)
    if one.verb is Verb.HOLD:
        return notifications.callback_of(tx, one.after.job_id)
    return None, None


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
