"""What failed, by kind: the error's type and the stage it came from."""

from typing import Any

from sqlalchemy import Connection, and_, func, select

from jobdeck_backend.jobs.records import Status
from jobdeck_backend.store.tables import admissions, attempts, jobs

_KIND = (jobs.c.error_type, jobs.c.stage)
_ranked = (
    select(
        jobs.c.job_id,
        admissions.c.finished_at,
        func.count().over(partition_by=_KIND).label("members"),
        func.row_number()
        .over(partition_by=_KIND, order_by=(admissions.c.finished_at.desc(), jobs.c.job_id))
        .label("rank"),
    )
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .where(jobs.c.status == Status.FAILURE)
    .subquery()
)
_NEWEST_OF_EACH = (
    select(
        jobs.c.error_type,
        jobs.c.stage,
        _ranked.c.members,
        _ranked.c.finished_at,
        jobs.c.job_id,
        admissions.c.agent_type,
        jobs.c.error,
        jobs.c.attempt,
        attempts.c.worker,
        attempts.c.traceback,
    )
    .select_from(_ranked)
    .join(jobs, jobs.c.job_id == _ranked.c.job_id)
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .outerjoin(attempts, and_(attempts.c.job_id == jobs.c.job_id, attempts.c.attempt == jobs.c.attempt))
    .where(_ranked.c.rank == 1)
    .order_by(_ranked.c.finished_at.desc(), jobs.c.job_id)
)


def by_kind(tx: Connection, limit: int) -> list[dict[str, Any]]:
    """Jobs that ended as failures, grouped; each group with its newest job, the group last seen first."""
    return [dict(row._mapping) for row in tx.execute(_NEWEST_OF_EACH.limit(limit))]
