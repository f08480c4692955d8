"""What job lists and single rows are made of: the records joined, never a query for each row."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, func, select

from jobdeck_backend.jobs.records import UNFINISHED
from jobdeck_backend.jobs.view import JobSource, Predecessor
from jobdeck_backend.store.tables import admissions, attempts, dependencies, jobs, transitions

IDS_MAX = 1_001
"""Ids in one statement: the longest page, and one more to see whether there is another."""

_last_recovery = (
    select(func.max(transitions.c.id))
    .where(transitions.c.job_id == jobs.c.job_id, transitions.c.name == "recovered")
    .correlate(jobs)
    .scalar_subquery()
)
BESIDE = {
    attempts: and_(attempts.c.job_id == jobs.c.job_id, attempts.c.attempt == jobs.c.attempt),
    transitions: transitions.c.id == _last_recovery,
}
"""What a job may have, once: its newest attempt, its last recovery."""

# In the order of JobSource's fields. Neither input nor output: they may be large and no row shows them.
_SOURCE = (
    select(
        admissions.c.job_id,
        admissions.c.thread_id,
        admissions.c.agent_type,
        admissions.c.queue,
        admissions.c.owner,
        admissions.c.deadline,
        jobs.c.priority,
        admissions.c.accepted_at,
        admissions.c.outcome,
        admissions.c.outcome_reason,
        admissions.c.finished_at,
        jobs.c.status,
        jobs.c.attempt,
        jobs.c.version,
        jobs.c.delivered_epoch,
        jobs.c.held_reason,
        jobs.c.worker,
        jobs.c.error,
        jobs.c.started_at,
        jobs.c.cancel_requested_at,
        jobs.c.cancel_acknowledged_at,
        jobs.c.stage,
        jobs.c.stages_done,
        jobs.c.stages_total,
        jobs.c.progress_at,
        jobs.c.note,
        attempts.c.epoch,
        attempts.c.heartbeat_at,
        attempts.c.ended_at,
        transitions.c.reason,
    )
    .join(jobs, jobs.c.job_id == admissions.c.job_id)
    .outerjoin(attempts, BESIDE[attempts])
    .outerjoin(transitions, BESIDE[transitions])
)
_TOTAL = select(func.count()).select_from(jobs)


def load(tx: Connection, job_ids: Sequence[str]) -> list[JobSource]:
    """The sources of these jobs, at most ``IDS_MAX``, in no order; unknown ids have none."""
    return _sources(tx, _SOURCE.where(admissions.c.job_id.in_(job_ids)))


def total(tx: Connection) -> int:
    """How many jobs are on record."""
    return int(tx.execute(_TOTAL).scalar_one())


def predecessors(tx: Connection, job_ids: Sequence[str]) -> dict[str, tuple[Predecessor, ...]]:
    """What each of these jobs (at most ``IDS_MAX``) waits or waited for; those that never did are left out."""
    statement = (
        select(dependencies.c.job_id, dependencies.c.predecessor_id, jobs.c.status)
        .join(jobs, jobs.c.job_id == dependencies.c.predecessor_id)
        .where(dependencies.c.job_id.in_(job_ids))
        .order_by(dependencies.c.predecessor_id)
    )
    found: dict[str, list[Predecessor]] = {}
    for job_id, predecessor_id, status in tx.execute(statement):
        one = Predecessor(predecessor_id, status, status not in UNFINISHED)
        found.setdefault(job_id, []).append(one)
    return {job_id: tuple(ones) for job_id, ones in found.items()}


def _sources(tx: Connection, statement: Select[Any]) -> list[JobSource]:
    return list(map(JobSource._make, tx.execute(statement).all()))
