"""What the recovery owner may do; each write checks its lease and the state the plan saw (R17, R18)."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from jobdeck_backend.commands import execution, notices
from jobdeck_backend.commands.transition import UNSTARTED, Moved, change, load, put_on_record
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Job, Lease, Status
from jobdeck_backend.store import jobs, leases

ACTOR = "recovery"
# As the jobs API spells them.
GHOST_TYPE = "GhostJobTimeout"
GHOST_ERROR = "Job timed out (no heartbeat received from worker)"


Step = Callable[[Connection], "Moved | bool | None"]
"""One action of a plan: what it changed or that it did, a falsehood when its precondition no longer held."""


def carry_out(tx: Connection, lease: Lease, steps: Sequence[Step], now: float) -> list[bool]:
    """Actions of one plan, each of another job, in one transaction; answers for each whether it was done.

    Raises ``LeaseLost``; and what a step raises, which is then everybody's: nothing was done.
    """
    leases.check(tx, lease, now)
    done = [step(tx) for step in steps]
    put_on_record(tx, [one for one in done if isinstance(one, Moved)])
    return [bool(one) for one in done]


def _unchanged(tx: Connection, job_id: str, status: Status, fence: int) -> Job | None:
    """The job, if it still is what the plan saw."""
    job = jobs.load_job(tx, job_id)
    return job if job is not None and job.status is status and job.fence == fence else None


def expire(tx: Connection, job_id: str, status: Status, fence: int, *, reason: str, now: float) -> bool:
    """Record that the deadline passed; False when the job moved on or was granted a later one meanwhile."""
    job = _unchanged(tx, job_id, status, fence)
    if job is None or not load(tx, job_id)[0].is_overdue(now):
        return False
    execution.expire(tx, job, now=now, actor=ACTOR, reason=reason)
    return True


def reclaim(
    tx: Connection,
    job_id: str,
    status: Status,
    fence: int,
    verb: Verb,
    *,
    attempt: int | None,
    attempt_end: str,
    heartbeat_at: float | None,
    reason: str,
    now: float,
) -> Moved | None:
    """Take a job from an execution that is lost, under a new fence: what that still writes is refused.

    RECOVER sends it back to the backlog, where a claim restarts it; HOLD keeps it for a person, delivered to
    nobody; TIME_OUT ends it, because nobody did either in time. None when the job moved on, or when the attempt's
    heartbeat is not the one any more that it was judged by (R24).
    """
    job = _unchanged(tx, job_id, status, fence)
    if job is None:
        return None
    if attempt is not None and not jobs.end_attempt(
        tx, job_id, attempt, now, attempt_end, heartbeat_at=heartbeat_at
    ):
        return None
    if verb is Verb.TIME_OUT:
        told = notices.job_error(GHOST_ERROR, GHOST_TYPE, now)
        columns: dict[str, Any] = {"error": GHOST_ERROR, "error_type": GHOST_TYPE}
    else:
        told = notices.notice(verb, now, f"{verb}: {reason}", reason=reason)
        columns = {**UNSTARTED, "held_reason": reason if verb is Verb.HOLD else None}
    return change(tx, job, verb, now=now, actor=ACTOR, reason=reason, told=[told], **columns)


def revoke(tx: Connection, job_id: str, status: Status, fence: int, now: float) -> bool:
    """A cancelled job's worker had its time to acknowledge: from now on it can write nothing (R15).

    False when it did acknowledge, or the job moved on.
    """
    job = _unchanged(tx, job_id, status, fence)
    if job is None or job.cancel_acknowledged_at is not None:
        return False
    return jobs.update_job(tx, job, fence=job.fence + 1, revoked_at=now)


def end_attempt(tx: Connection, job_id: str, attempt: int, *, reason: str, now: float) -> bool:
    """Put on record that the thread of a finished job is gone with its process."""
    return jobs.end_attempt(tx, job_id, attempt, now, reason)
