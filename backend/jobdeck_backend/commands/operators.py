"""The acts of an operator: cancel, expire, resume, grant, pause. Each is audited, refused ones too (R36)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from jobdeck_backend.clock import LATEST, instant
from jobdeck_backend.commands import execution, notices
from jobdeck_backend.commands.transition import UNSTARTED, load, move
from jobdeck_backend.errors import (
    Changed,
    DeadlinePassed,
    InvalidInput,
    NotEligible,
    Refused,
    VerdictNeeded,
)
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Admission, Job, Status
from jobdeck_backend.store import audit, effects, events, jobs, queues


class Perform(Protocol):
    """One act on the records as they are now; answers what came of it, or raises a ``Refused``."""

    def __call__(self, tx: Connection, admission: Admission, job: Job, by: "By", /) -> str:
        """Do it."""


@dataclass(frozen=True, slots=True)
class By:
    """Who acts, why, when, and which version of the row they saw."""

    actor: str
    now: float
    reason: str | None = None
    version: int | None = None


def act(tx: Connection, name: str, job_id: str, perform: Perform, by: By) -> str | Refused:
    """Do one act on a job and put it on record; a refusal is answered as a value, so that its record stays.

    An act on a row that changed since it was seen is refused.
    """
    result = _attempt(tx, job_id, perform, by)
    said = f"refused: {result.code}" if isinstance(result, Refused) else result
    _audit(tx, name, job_id, said, by)
    return result


def weigh(tx: Connection, job_id: str, perform: Perform, by: By) -> str | Refused:
    """What an act would come to now: it is done, and all of it is taken back; it is no act, and not on record."""
    trial = tx.begin_nested()
    try:
        return _attempt(tx, job_id, perform, by)
    finally:
        trial.rollback()


def _attempt(tx: Connection, job_id: str, perform: Perform, by: By) -> str | Refused:
    try:
        with tx.begin_nested():
            admission, job = load(tx, job_id)
            if by.version is not None and by.version != job.version:
                raise Changed(f"job {job_id} changed since you saw it; nothing was done")
            return perform(tx, admission, job, by)
    except Refused as refusal:
        return refusal


def cancel(tx: Connection, _admission: Admission, job: Job, by: By) -> str:
    """INTERRUPTED at once (R15). A job no worker has started is acknowledged here and now."""
    if job.status.terminal:
        raise NotEligible(f"Job not running: {job.job_id} (status: {job.status})")
    words = "cancelled by user" + (f": {by.reason}" if by.reason else "")
    running = job.status is Status.RUNNING
    told = [notices.cancellation_requested(words, by.now)]
    if not running:
        told.append(notices.cancelled(words, by.now))
    move(
        tx,
        job,
        Verb.CANCEL,
        now=by.now,
        actor=by.actor,
        reason=words,
        told=told,
        error=words,
        error_type="CancelledByUser",
        held_reason=None,
        cancel_requested_at=by.now,
        cancel_acknowledged_at=None if running else by.now,
    )
    return "cancel requested" if running else "cancelled"


def expire(tx: Connection, admission: Admission, job: Job, by: By) -> str:
    """End an unfinished job's usefulness now."""
    if job.status.terminal:
        raise NotEligible(f"job {job.job_id} is finished already ({admission.outcome})")
    why = "by operator" + (f": {by.reason}" if by.reason else "")
    execution.expire(tx, job, now=by.now, actor=by.actor, reason=why)
    return "expired"


def resume(tx: Connection, admission: Admission, job: Job, by: By) -> str:
    """A new attempt on the same thread, for a held, failed, cancelled or expired job with time left (R13)."""
    if job.status is Status.RUNNING or (job.status is Status.SUBMITTED and job.held_reason is None):
        raise NotEligible(f"job {job.job_id} is unfinished; there is nothing to resume")
    if job.status is Status.SUCCESS:
        raise NotEligible(f"job {job.job_id} succeeded; it is never run again")
    if admission.is_overdue(by.now):
        raise DeadlinePassed(f"the deadline of job {job.job_id} has passed; grant a later one first")
    if jobs.thread_went_on(tx, job.job_id, admission.thread_id):
        # From there its completed stages would run again, on another job's state (R20).
        raise NotEligible(f"thread {admission.thread_id} has gone on with another job; submit this one anew")
    unknown = effects.unjudged(tx, job.job_id)
    if unknown is not None:
        raise VerdictNeeded(
            f"effect {unknown.name} of job {job.job_id} may have happened; say first whether it did",
            effect=unknown.key,
        )
    try:
        with tx.begin_nested():
            # Its thread must be free: a later job of the same session may be live on it (R21).
            jobs.update_admission(tx, job.job_id, outcome=None, outcome_reason=None, finished_at=None)
    except IntegrityError:
        raise NotEligible(f"another job is live on thread {admission.thread_id}") from None
    move(
        tx,
        job,
        Verb.RESUME,
        now=by.now,
        actor=by.actor,
        reason=by.reason,
        told=[notices.notice(Verb.RESUME, by.now, f"resumed by {by.actor}", reason=by.reason)],
        error=None,
        error_type=None,
        held_reason=None,
        cancel_requested_at=None,
        cancel_acknowledged_at=None,
        revoked_at=None,
        **UNSTARTED,
    )
    if job.dependent:
        # While it was over, a grant may have left what it waits for less urgent than itself.
        waits_for = [predecessor for predecessor, _status, _output in jobs.load_predecessors(tx, job.job_id)]
        jobs.hasten_predecessors(tx, waits_for, job.dispatch_deadline)
    return "resumed"


def grant_until(deadline: Callable[[Admission, float], float]) -> Perform:
    """The act of granting a later window (R7): ``deadline`` gets the admission and now, answers the new one."""

    def grant(tx: Connection, admission: Admission, job: Job, by: By) -> str:
        old, new = admission.deadline, deadline(admission, by.now)
        if job.status is Status.SUCCESS:
            raise NotEligible(f"job {job.job_id} succeeded; it needs no later deadline")
        if old is None:
            raise NotEligible(f"job {job.job_id} has no deadline; there is nothing to extend")
        if new <= old or new <= by.now:
            raise NotEligible("a granted deadline must be later than the old one and than now")
        if new > LATEST:
            raise InvalidInput("the granted deadline is after the year 9999; nothing was changed")
        jobs.update_admission(tx, job.job_id, deadline=new)
        urgency = min(new, jobs.nearest_dependent_deadline(tx, job.job_id))
        jobs.update_job(tx, job, dispatch_deadline=urgency, version=job.version + 1)
        text = f"deadline moved from {instant(old)} to {instant(new)} by {by.actor}"
        told = notices.notice("granted", by.now, text, old=old, new=new, reason=by.reason)
        events.append(tx, job.job_id, [told], by.now)
        return text

    return grant


def set_paused(
    tx: Connection, queue: str, *, paused: bool, actor: str, reason: str | None, now: float
) -> None:
    """Stop or go on handing a queue's jobs to Dask; acceptance goes on."""
    queues.set_paused(tx, queue, paused=paused, actor=actor, now=now)
    verb = "pause" if paused else "unpause"
    note(tx, verb, f"queue {queue} {verb}d", By(actor, now, reason))


def note(tx: Connection, name: str, result: str, by: By) -> None:
    """Put an act on record that is not one on a job."""
    _audit(tx, name, None, result, by)


def _audit(tx: Connection, name: str, job_id: str | None, result: str, by: By) -> None:
    audit.append(
        tx,
        at=by.now,
        actor=by.actor,
        act=name,
        job_id=job_id,
        version=by.version,
        reason=by.reason,
        result=result,
    )
