"""The acts of an operator: cancel, expire, resume, grant, pause. Each is audited, refused ones too (R36)."""

from collections.abc import Callable

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from jobdeck_backend.commands import execution, notices
from jobdeck_backend.commands.transition import load, move
from jobdeck_backend.errors import Changed, DeadlinePassed, NotEligible, Refused
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Admission, Job, Status
from jobdeck_backend.store import audit, events, jobs, queues


def act(
    tx: Connection,
    name: str,
    job_id: str,
    perform: Callable[[Admission, Job], str],
    *,
    actor: str,
    reason: str | None,
    version: int | None,
    now: float,
) -> str | Refused:
    """Do one act on a job and put it on record; a refusal is answered as a value, so that its record stays.

    ``perform`` gets the job's records and answers what came of it. ``version`` is the one the operator saw: an
    act on a row that changed since is refused.
    """
    result: str | Refused
    try:
        with tx.begin_nested():
            admission, job = load(tx, job_id)
            if version is not None and version != job.version:
                raise Changed(f"job {job_id} changed since you saw it; nothing was done")
            result = perform(admission, job)
    except Refused as refusal:
        result = refusal
    audit.append(
        tx,
        at=now,
        actor=actor,
        act=name,
        job_id=job_id,
        version=version,
        reason=reason,
        result=f"refused: {result.code}" if isinstance(result, Refused) else result,
    )
    return result


def cancel(tx: Connection, job: Job, *, actor: str, reason: str | None, now: float) -> str:
    """INTERRUPTED at once (R15). A job no worker has started is acknowledged here and now."""
    if job.status.terminal:
        raise NotEligible(f"Job not running: {job.job_id} (status: {job.status})")
    words = "cancelled by user" + (f": {reason}" if reason else "")
    running = job.status is Status.RUNNING
    told = [notices.cancellation_requested(words)]
    if not running:
        told.append(notices.cancelled(words))
    move(
        tx,
        job,
        Verb.CANCEL,
        now=now,
        actor=actor,
        reason=words,
        told=told,
        error=words,
        error_type="CancelledByUser",
        held_reason=None,
        cancel_requested_at=now,
        cancel_acknowledged_at=None if running else now,
    )
    return "cancel requested" if running else "cancelled"


def expire(tx: Connection, job: Job, *, actor: str, reason: str | None, now: float) -> str:
    """End an unfinished job's usefulness now."""
    if job.status.terminal:
        raise NotEligible(f"job {job.job_id} is finished already ({job.status})")
    why = "by operator" + (f": {reason}" if reason else "")
    execution.expire(tx, job, now=now, actor=actor, reason=why)
    return "expired"


def resume(
    tx: Connection, admission: Admission, job: Job, *, actor: str, reason: str | None, now: float
) -> str:
    """A new attempt on the same thread, for a held, failed, cancelled or expired job with time left (R13)."""
    if job.status is Status.RUNNING or (job.status is Status.SUBMITTED and job.held_reason is None):
        raise NotEligible(f"job {job.job_id} is unfinished; there is nothing to resume")
    if job.status is Status.SUCCESS:
        raise NotEligible(f"job {job.job_id} succeeded; it is never run again")
    if admission.deadline is not None and now >= admission.deadline:
        raise DeadlinePassed(f"the deadline of job {job.job_id} has passed; grant a later one first")
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
        now=now,
        actor=actor,
        reason=reason,
        told=[notices.notice(Verb.RESUME, now, f"resumed by {actor}", reason=reason)],
        error=None,
        error_type=None,
        held_reason=None,
        delivered_epoch=None,
        delivered_at=None,
        cancel_requested_at=None,
        cancel_acknowledged_at=None,
    )
    return "resumed"


def grant(
    tx: Connection,
    admission: Admission,
    job: Job,
    deadline: float,
    *,
    actor: str,
    reason: str | None,
    now: float,
) -> str:
    """A later window (R7); the old one stays on record in the event and the audit."""
    old = admission.deadline
    if job.status is Status.SUCCESS:
        raise NotEligible(f"job {job.job_id} succeeded; it needs no later deadline")
    if old is None or deadline <= old or deadline <= now:
        raise NotEligible("a granted deadline must be later than the old one and than now")
    jobs.update_admission(tx, job.job_id, deadline=deadline)
    jobs.update_job(tx, job, dispatch_deadline=deadline, version=job.version + 1)
    text = f"deadline moved from {notices.iso(old)} to {notices.iso(deadline)} by {actor}"
    events.append(
        tx, job.job_id, [notices.notice("granted", now, text, old=old, new=deadline, reason=reason)], now
    )
    return text


def set_paused(tx: Connection, queue: str, *, paused: bool, actor: str, reason: str | None, now: float) -> None:
    """Stop or go on handing a queue's jobs to Dask; acceptance goes on."""
    queues.set_paused(tx, queue, paused=paused, actor=actor, now=now)
    audit.append(
        tx,
        at=now,
        actor=actor,
        act="pause" if paused else "unpause",
        job_id=None,
        version=None,
        reason=reason,
        result=f"queue {queue} {'paused' if paused else 'resumed'}",
    )
