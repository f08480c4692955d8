"""What the reaper reads: the few jobs that may need something done."""

from dataclasses import fields

from sqlalchemy import Connection, and_, func, select, union

from jobdeck_backend.jobs.records import Attempt, Job, Policy, Status
from jobdeck_backend.store.effects import OPEN
from jobdeck_backend.store.tables import UNACKNOWLEDGED, admissions, attempts, effects, jobs, stages

_JOB = [jobs.c[field.name] for field in fields(Job)]
_ATTEMPT = [attempts.c[field.name] for field in fields(Attempt)]


def candidates(tx: Connection, now: float) -> list[tuple[Job, float | None, Attempt | None]]:
    """Jobs that run, are overdue, have a thread somewhere or wait for a cancel's acknowledgement."""
    # Each of these walks an index: the reaper looks twice a second, however many jobs are on record.
    ids = union(
        select(jobs.c.job_id).where(jobs.c.status == Status.RUNNING),
        select(jobs.c.job_id).where(jobs.c.status == Status.SUBMITTED, jobs.c.dispatch_deadline <= now),
        select(attempts.c.job_id).where(attempts.c.ended_at.is_(None)),
        select(jobs.c.job_id).where(UNACKNOWLEDGED),
    )
    live = and_(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None))
    statement = (
        select(*_JOB, admissions.c.deadline, *_ATTEMPT)
        .join(admissions, admissions.c.job_id == jobs.c.job_id)
        .outerjoin(attempts, live)
        .where(jobs.c.job_id.in_(ids))
    )
    found = []
    width = len(_JOB)
    for row in tx.execute(statement):
        job = Job(row[0], Status(row[1]), *row[2:width])
        attempt = Attempt(*row[width + 1 :]) if row[width + 1] is not None else None
        found.append((job, row[width], attempt))
    return found


def lost_attempts(tx: Connection, job_id: str) -> int:
    """How many executions of this job ended with their worker."""
    statement = select(func.count()).where(
        attempts.c.job_id == job_id, attempts.c.end_reason == "worker lost"
    )
    return int(tx.execute(statement).scalar_one())


def last_stage(tx: Connection, job_id: str) -> tuple[str | None, str | None]:
    """``(node, checkpoint_id)`` of the newest completed stage."""
    statement = (
        select(stages.c.node, stages.c.checkpoint_id)
        .where(stages.c.job_id == job_id)
        .order_by(stages.c.step.desc())
        .limit(1)
    )
    row = tx.execute(statement).first()
    return (None, None) if row is None else (row[0], row[1])


def unknown_effect(tx: Connection, job_id: str) -> str | None:
    """Key of the job's first open effect about which only a person can tell."""
    statement = (
        select(effects.c.key)
        .where(effects.c.job_id == job_id, effects.c.state.in_(OPEN), effects.c.policy == Policy.MANUAL)
        .order_by(effects.c.intent_at)
        .limit(1)
    )
    return tx.execute(statement).scalar_one_or_none()
