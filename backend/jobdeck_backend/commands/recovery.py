"""What the recovery owner may do; each write checks its lease and the state the plan saw (R17, R18)."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from jobdeck_backend.commands import execution, notices
from jobdeck_backend.commands.transition import load, move
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Job, Lease, NewEvent, Status
from jobdeck_backend.store import jobs, leases

ACTOR = "recovery"
# As the jobs API spells them.
GHOST_TYPE = "GhostJobTimeout"
GHOST_ERROR = "Job timed out (no heartbeat received from worker)"


@dataclass(frozen=True, slots=True)
class Lost:
    """An execution that is to be ended: what was read of it, and why it ended.

    A heartbeat written since it was read says that the worker lives: then nothing is done (R24).
    """

    attempt: int | None
    heartbeat_at: float | None
    end_reason: str


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
    tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, lost: Lost, reason: str, now: float
) -> bool:
    """Back to the backlog under a new fence: the old execution can write nothing more; a claim restarts it."""
    told = notices.notice(Verb.RECOVER, now, f"recovered: {reason}", reason=reason)
    job = _unchanged(tx, lease, job_id, status, fence, now)
    return _take_away(tx, job, lost, Verb.RECOVER, told, reason, now, **execution.UNSTARTED)


def hold(
    tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, lost: Lost, reason: str, now: float
) -> bool:
    """Keep the job for a person: unfinished, executed by nobody, delivered to nobody."""
    told = notices.notice(Verb.HOLD, now, f"held: {reason}", reason=reason)
    columns = {**execution.UNSTARTED, "held_reason": reason}
    job = _unchanged(tx, lease, job_id, status, fence, now)
    return _take_away(tx, job, lost, Verb.HOLD, told, reason, now, **columns)


def time_out(
    tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, lost: Lost, reason: str, now: float
) -> bool:
    """FAILURE: its worker is lost and nobody recovered it in time (R24)."""
    told = notices.job_error(GHOST_ERROR, GHOST_TYPE)
    columns = {"error": GHOST_ERROR, "error_type": GHOST_TYPE}
    job = _unchanged(tx, lease, job_id, status, fence, now)
    return _take_away(tx, job, lost, Verb.TIME_OUT, told, reason, now, **columns)


def _take_away(
    tx: Connection,
    job: Job | None,
    lost: Lost,
    verb: Verb,
    told: NewEvent,
    reason: str,
    now: float,
    **columns: Any,
) -> bool:
    """Take a running job from its lost execution, if both still are what the plan saw."""
    if job is None:
        return False
    if lost.attempt is not None:
        if not jobs.has_heartbeat(tx, job.job_id, lost.attempt, lost.heartbeat_at):
            return False
        jobs.end_attempt(tx, job.job_id, lost.attempt, now, lost.end_reason)
    move(tx, job, verb, now=now, actor=ACTOR, reason=reason, told=[told], **columns)
    return True


def revoke(tx: Connection, lease: Lease, job_id: str, status: Status, fence: int, now: float) -> bool:
    """A cancelled job's worker had its time to acknowledge: from now on it can write nothing (R15)."""
    job = _unchanged(tx, lease, job_id, status, fence, now)
    return job is not None and jobs.update_job(tx, job, fence=job.fence + 1, revoked_at=now)


def end_attempt(tx: Connection, lease: Lease, job_id: str, lost: Lost, now: float) -> bool:
    """Put on record that the thread of a job that is not running any more is gone with its process."""
    leases.check(tx, lease, now)
    return lost.attempt is not None and jobs.end_attempt(tx, job_id, lost.attempt, now, lost.end_reason)
