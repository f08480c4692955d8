"""What the dispatcher reads and marks: the backlog in order, and which jobs Dask holds."""

import math
from collections.abc import Collection, Sequence, Set
from typing import Any

from sqlalchemy import Connection, Select, bindparam, exists, func, select, update

from jobdeck_backend.jobs.records import UNFINISHED, Delivery, Status
from jobdeck_backend.store.tables import admissions, attempts, dependencies, epochs, jobs, queues

_LIVE_ATTEMPT = exists().where(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None))
_PAUSED = exists().where(
    admissions.c.job_id == jobs.c.job_id,
    queues.c.name == admissions.c.queue,
    queues.c.paused_at.is_not(None),
)
_MAY_GO = (
    select(jobs.c.job_id, jobs.c.fence, jobs.c.dispatch_deadline, jobs.c.priority)
    .where(jobs.c.held_reason.is_(None), ~_LIVE_ATTEMPT, ~_PAUSED)
    .where(jobs.c.dependent == bindparam("dependent"), jobs.c.dispatch_deadline < bindparam("before"))
    .order_by(jobs.c.dispatch_deadline, jobs.c.priority.desc(), jobs.c.accepted_at)
    .limit(bindparam("limit"))
    # On PostgreSQL: what somebody else is changing just now comes next time.
    .with_for_update(of=jobs, skip_locked=True)
)
_NEXT = _MAY_GO.where(jobs.c.status == Status.SUBMITTED, jobs.c.delivered_epoch.is_(None))
# Expressions, which no index knows: found by their ids, whatever else waits.
_NEXT_OF_THESE = _MAY_GO.where(
    jobs.c.status.concat("") == Status.SUBMITTED,
    func.coalesce(jobs.c.delivered_epoch, 0) == 0,
    jobs.c.job_id.in_(bindparam("only", expanding=True)),
)
_predecessor = jobs.alias("predecessor")
_WAITS_FOR_BACKLOG = exists().where(
    dependencies.c.job_id == jobs.c.job_id,
    _predecessor.c.job_id == dependencies.c.predecessor_id,
    _predecessor.c.status.in_(UNFINISHED),
    _predecessor.c.delivered_epoch.is_(None),
)
_NEXT_DEPENDENT = _NEXT.where(~_WAITS_FOR_BACKLOG)
_NEXT_DEPENDENT_BUT = _NEXT_DEPENDENT.where(
    ~exists().where(
        dependencies.c.job_id == jobs.c.job_id,
        dependencies.c.predecessor_id.in_(bindparam("others", expanding=True)),
    )
)
_dependent = jobs.alias("dependent_job")
_WAITED_FOR = select(jobs.c.job_id).where(
    jobs.c.status.in_(UNFINISHED),
    jobs.c.delivered_epoch.is_not(None),
    exists().where(
        dependencies.c.predecessor_id == jobs.c.job_id,
        _dependent.c.job_id == dependencies.c.job_id,
        _dependent.c.status == Status.SUBMITTED,
        _dependent.c.delivered_epoch.is_(None),
    ),
)
_OPEN_PREDECESSORS = (
    select(dependencies.c.predecessor_id)
    .join(jobs, jobs.c.job_id == dependencies.c.predecessor_id)
    .where(dependencies.c.job_id == bindparam("id"), jobs.c.status.in_(UNFINISHED))
)


def next_independent(
    tx: Connection, limit: int, before: float = math.inf, only: Collection[str] | None = None
) -> list[Delivery]:
    """The most urgent backlog jobs, ``only`` of these if given, that never waited for others and are due before an
    instant."""
    statement, these = (_NEXT, {}) if only is None else (_NEXT_OF_THESE, {"only": list(only)})
    rows = tx.execute(statement, {"dependent": False, "limit": limit, "before": before} | these)
    return [Delivery(row.job_id, row.fence, row.dispatch_deadline, row.priority, ()) for row in rows]


def next_dependent(tx: Connection, limit: int, going: Set[str]) -> list[Delivery]:
    """The most urgent backlog jobs that were submitted with ``after`` and wait for none but those in ``going``;
    with those they still wait for."""
    waiting = _dependents(tx, _NEXT_DEPENDENT, limit)
    ready = [one for one in waiting if going >= set(one.predecessors)]
    if len(waiting) < limit or len(ready) == limit:
        return ready
    # What waits for a lost job, or for one of another backend, may wait long: it is in nobody's way.
    others = set(tx.execute(_WAITED_FOR).scalars()).difference(going)
    return _dependents(tx, _NEXT_DEPENDENT_BUT, limit, others=list(others))


def _dependents(tx: Connection, statement: Select[Any], limit: int, **only: Any) -> list[Delivery]:
    found = []
    rows = tx.execute(statement, {"dependent": True, "limit": limit, "before": math.inf} | only).all()
    for row in rows:
        waits_for = tuple(tx.execute(_OPEN_PREDECESSORS, {"id": row.job_id}).scalars())
        found.append(Delivery(row.job_id, row.fence, row.dispatch_deadline, row.priority, waits_for))
    return found


def mark_delivered(tx: Connection, job_ids: Sequence[str], epoch: int, now: float) -> None:
    """Put on record that these jobs are handed to the Dask of this epoch."""
    if job_ids:
        statement = update(jobs).where(jobs.c.job_id.in_(job_ids))
        tx.execute(statement.values(delivered_epoch=epoch, delivered_at=now))


def take_back(tx: Connection, job_ids: Sequence[str]) -> None:
    """Return delivered jobs that nobody started to the backlog."""
    statement = update(jobs).where(jobs.c.job_id.in_(job_ids), jobs.c.status == Status.SUBMITTED)
    tx.execute(statement.values(delivered_epoch=None, delivered_at=None))


def unstarted(tx: Connection, job_ids: Collection[str]) -> set[str]:
    """Which of these jobs nobody has started."""
    statement = select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids), jobs.c.status == Status.SUBMITTED)
    return set(tx.execute(statement).scalars())


def take_back_other_epochs(tx: Connection, epoch: int | None) -> int:
    """Return to the backlog what was handed to a Dask that is over: none of an open epoch, nor this one's; answers
    how many."""
    statement = update(jobs).where(
        jobs.c.status == Status.SUBMITTED,
        jobs.c.delivered_epoch.is_not(None),
        jobs.c.delivered_epoch.is_distinct_from(epoch),
        jobs.c.delivered_epoch.not_in(select(epochs.c.epoch).where(epochs.c.ended_at.is_(None))),
    )
    return tx.execute(statement.values(delivered_epoch=None, delivered_at=None)).rowcount


def delivered(tx: Connection, numbers: Collection[int]) -> set[str]:
    """Jobs that the Dask of these epochs should hold and nobody has started."""
    statement = select(jobs.c.job_id).where(
        jobs.c.status == Status.SUBMITTED, jobs.c.delivered_epoch.in_(numbers)
    )
    return set(tx.execute(statement).scalars())


def least_urgent_delivered(tx: Connection) -> float:
    """The latest dispatch deadline among delivered, unstarted jobs; 0 when there are none."""
    statement = select(func.max(jobs.c.dispatch_deadline)).where(
        jobs.c.status == Status.SUBMITTED, jobs.c.delivered_epoch.is_not(None)
    )
    return float(tx.execute(statement).scalar_one() or 0.0)
