"""What the recovery owner may do; each write checks its lease and the state the plan saw (R17, R18)."""

from sqlalchemy import Connection

from jobdeck_backend.commands import execution, notices
from jobdeck_backend.commands.transition import load, move
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Job, Lease, Status
from jobdeck_backend.store import jobs, leases

ACTOR = "recovery"


def _unchanged(
    tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, now: float
) -> Job | None:
    """The job, if it still is what the plan saw. Raises ``LeaseLost``."""
    leases.check(tx, lease, now)
    job = load(tx, job_id)[1]
    return job if job.status is status and job.fence == fence else None


def expire(
    tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, *, reason: str, now: float
) -> bool:
    """Record that the deadline passed; False when the job moved on meanwhile."""
    job = _unchanged(tx, lease, job_id, status, fence, now)
    if job is None:
        return False
    execution.expire(tx, job, now=now, actor=ACTOR, reason=reason)
    return True


def requeue(
    tx: Connection,
    lease: Lease,
    job_id: str,
    status: Status,
    fence: int,
    *,
    attempt: int | None,
    attempt_end: str,
    reason: str,
    now: float,
) -> bool:
    """Back to the backlog under a new fence: the old execution can write nothing more; a claim restarts it."""
    job = _unchanged(tx, lease, job_id, status, fence, now)
    if job is None:
        return False
    told = [notices.notice(Verb.RECOVER, now, f"recovered: {reason}", reason=reason)]
    move(tx, job, Verb.RECOVER, now=now, actor=ACTOR, reason=reason, told=told, **execution.UNSTARTED)
    if attempt is not None:
        jobs.end_attempt(tx, job_id, attempt, now, attempt_end)
    return True


def hold(
    tx: Connection,
    lease: Lease,
    job_id: str,
    status: Status,
    fence: int,
    *,
    attempt: int | None,
    attempt_end: str,
    reason: str,
    now: float,
) -> bool:
    """Keep the job for a person: unfinished, executed by nobody, delivered to nobody."""
    job = _unchanged(tx, lease, job_id, status, fence, now)
    if job is None:
        return False
    told = [notices.notice(Verb.HOLD, now, f"held: {reason}", reason=reason)]
    columns = {**execution.UNSTARTED, "held_reason": reason}
    move(tx, job, Verb.HOLD, now=now, actor=ACTOR, reason=reason, told=told, **columns)
    if attempt is not None:
        jobs.end_attempt(tx, job_id, attempt, now, attempt_end)
    return True


def revoke(tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, now: float) -> bool:
    """A cancelled job's worker had its time to acknowledge: from now on it can write nothing (R15)."""
    job = _unchanged(tx, lease, job_id, status, fence, now)
    return job is not None and jobs.update_job(tx, job, fence=job.fence + 1, revoked_at=now)


def end_attempt(tx: Connection, lease: Lease, job_id: str, attempt: int, *, reason: str, now: float) -> bool:
    """Put on record that the thread of a finished job is gone with its process."""
    leases.check(tx, lease, now)
    return jobs.end_attempt(tx, job_id, attempt, now, reason)
