"""What the dispatcher reads and marks: the backlog in order, and which jobs Dask holds."""

from collections.abc import Sequence

from sqlalchemy import Connection, exists, func, nulls_last, select, update

from jobdeck_backend.jobs.records import Delivery, Status
from jobdeck_backend.store.tables import admissions, attempts, dependencies, jobs, queues

_UNFINISHED = (Status.SUBMITTED, Status.RUNNING)

_LIVE_ATTEMPT = exists().where(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None))
_PAUSED = exists().where(queues.c.name == admissions.c.queue, queues.c.paused_at.is_not(None))
_BACKLOG = (
    (jobs.c.status == Status.SUBMITTED)
    & jobs.c.delivered_epoch.is_(None)
    & jobs.c.held_reason.is_(None)
    & ~_LIVE_ATTEMPT
    & ~_PAUSED
)
_predecessor = jobs.alias("predecessor")
_OPEN_PREDECESSORS = (
    select(dependencies.c.predecessor_id)
    .join(_predecessor, _predecessor.c.job_id == dependencies.c.predecessor_id)
    .where(_predecessor.c.status.in_(_UNFINISHED))
)
_NEXT = (
    select(jobs.c.job_id, jobs.c.fence, jobs.c.dispatch_deadline, admissions.c.priority)
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .where(_BACKLOG)
    .order_by(nulls_last(jobs.c.dispatch_deadline), admissions.c.priority.desc(), admissions.c.accepted_at)
)
_BLOCKED = exists(_OPEN_PREDECESSORS.where(dependencies.c.job_id == jobs.c.job_id).correlate(jobs))


def next_ready(tx: Connection, limit: int) -> list[Delivery]:
    """The most urgent backlog jobs that wait for nothing."""
    rows = tx.execute(_NEXT.where(~_BLOCKED).limit(limit))
    return [Delivery(row.job_id, row.fence, row.dispatch_deadline, row.priority, ()) for row in rows]


def next_dependent(tx: Connection, limit: int) -> list[Delivery]:
    """The most urgent backlog jobs that wait for others, with those they wait for."""
    found = []
    for row in tx.execute(_NEXT.where(_BLOCKED).limit(limit)).all():
        open_ids = tx.execute(_OPEN_PREDECESSORS.where(dependencies.c.job_id == row.job_id))
        waits_for = tuple(open_id[0] for open_id in open_ids)
        found.append(Delivery(row.job_id, row.fence, row.dispatch_deadline, row.priority, waits_for))
    return found


def mark_delivered(tx: Connection, job_ids: Sequence[str], epoch: int, now: float) -> None:
    """Put on record that these jobs are handed to the Dask of this epoch."""
    statement = update(jobs).where(jobs.c.job_id.in_(job_ids))
    tx.execute(statement.values(delivered_epoch=epoch, delivered_at=now))


def take_back(tx: Connection, job_ids: Sequence[str]) -> None:
    """Return delivered jobs that nobody started to the backlog."""
    statement = update(jobs).where(jobs.c.job_id.in_(job_ids), jobs.c.status == Status.SUBMITTED)
    tx.execute(statement.values(delivered_epoch=None, delivered_at=None))


def take_back_other_epochs(tx: Connection, epoch: int) -> int:
    """Return to the backlog what was handed to another Dask than this epoch's; answers how many."""
    statement = update(jobs).where(
        jobs.c.status == Status.SUBMITTED,
        jobs.c.delivered_epoch.is_not(None),
        jobs.c.delivered_epoch != epoch,
    )
    return tx.execute(statement.values(delivered_epoch=None, delivered_at=None)).rowcount


def delivered(tx: Connection) -> dict[str, tuple[int, float]]:
    """``job_id → (fence, delivered_at)`` of every job that Dask should hold and nobody has started."""
    statement = select(jobs.c.job_id, jobs.c.fence, jobs.c.delivered_at).where(
        jobs.c.status == Status.SUBMITTED, jobs.c.delivered_epoch.is_not(None)
    )
    return {row[0]: (row[1], row[2]) for row in tx.execute(statement)}


def least_urgent_delivered(tx: Connection) -> float | None:
    """The latest dispatch deadline among delivered, unstarted jobs; None when none has a deadline."""
    statement = select(func.max(jobs.c.dispatch_deadline)).where(
        jobs.c.status == Status.SUBMITTED, jobs.c.delivered_epoch.is_not(None)
    )
    latest: float | None = tx.execute(statement).scalar_one()
    return latest
