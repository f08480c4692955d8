"""What the counts, the forecast and the queues are computed from."""

from collections.abc import Collection, Container, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, func, select

from jobdeck_backend.jobs.forecast import Ahead
from jobdeck_backend.jobs.records import UNFINISHED, Outcome, Status
from jobdeck_backend.store.tables import admissions, attempts, dependencies, jobs

SERVICE_TIMES_ROWS_MAX = 1_000


class LineRow(NamedTuple):
    """One unfinished job, as far as its place in the line goes."""

    job_id: str
    workflow: str
    queue: str
    deadline: float | None
    accepted_at: float
    status: str
    delivered_epoch: int | None
    held: bool
    started_at: float | None
    dispatch_deadline: float
    priority: int
    strict: bool
    worker: str | None

    def ahead(self, predecessors: Sequence[str], drained: Container[str] = ()) -> Ahead:
        """The job as the forecast counts it; ``predecessors``: what it waits for; ``drained``: such workers."""
        started_at = self.started_at if self.status == Status.RUNNING else None
        order = (self.dispatch_deadline, -self.priority, self.accepted_at)
        return Ahead(
            self.job_id,
            self.workflow,
            started_at,
            predecessors,
            order,
            self.deadline if self.strict else None,
            slot_closes=started_at is not None and self.worker in drained,
        )

    def goes(self, paused: Container[str]) -> bool:
        """Whether it runs or will start by itself; ``paused``: queues that are."""
        return self.status == Status.RUNNING or (
            not self.held and (self.delivered_epoch is not None or self.queue not in paused)
        )


# In dispatch order.
_LINE = (
    select(
        jobs.c.job_id,
        admissions.c.agent_type,
        admissions.c.queue,
        admissions.c.deadline,
        jobs.c.accepted_at,
        jobs.c.status,
        jobs.c.delivered_epoch,
        jobs.c.held_reason.is_not(None),
        jobs.c.started_at,
        jobs.c.dispatch_deadline,
        jobs.c.priority,
        admissions.c.strict,
        jobs.c.worker,
    )
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .where(jobs.c.status.in_(UNFINISHED))
    .order_by(jobs.c.dispatch_deadline, jobs.c.priority.desc(), jobs.c.accepted_at)
)
_dependent = jobs.alias("dependent")
_OPEN = (
    select(dependencies.c.job_id, dependencies.c.predecessor_id)
    .join(_dependent, _dependent.c.job_id == dependencies.c.job_id)
    .join(jobs, jobs.c.job_id == dependencies.c.predecessor_id)
    .where(_dependent.c.status == Status.SUBMITTED, jobs.c.status.in_(UNFINISHED))
)
_BY_STATUS = select(jobs.c.status, func.count()).group_by(jobs.c.status)
_INTERRUPTED = (
    select(admissions.c.outcome, func.count())
    .join(jobs, jobs.c.job_id == admissions.c.job_id)
    .where(jobs.c.status == Status.INTERRUPTED)
    .group_by(admissions.c.outcome)
)
_SLOTS = (
    select(jobs.c.status, func.count())
    .join(attempts, and_(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None)))
    .group_by(jobs.c.status)
)
_NEWEST_SUCCESSES = (
    select(admissions.c.agent_type, admissions.c.queue, attempts.c.ended_at - attempts.c.started_at)
    .join(jobs, jobs.c.job_id == admissions.c.job_id)
    .join(attempts, and_(attempts.c.job_id == jobs.c.job_id, attempts.c.attempt == jobs.c.attempt))
    .where(admissions.c.outcome == Outcome.SUCCEEDED, admissions.c.finished_at.is_not(None))
    .where(attempts.c.ended_at.is_not(None))
    .order_by(admissions.c.finished_at.desc())
    .limit(SERVICE_TIMES_ROWS_MAX)
)
_QUEUES = select(admissions.c.queue, func.count()).group_by(admissions.c.queue)


def line(tx: Connection) -> list[LineRow]:
    """Every unfinished job in dispatch order."""
    return list(map(LineRow._make, tx.execute(_LINE).all()))


def open_predecessors(tx: Connection) -> dict[str, list[str]]:
    """``job_id → unfinished jobs it waits for``, of every submitted job that waits for any."""
    found: dict[str, list[str]] = {}
    for job_id, predecessor_id in tx.execute(_OPEN):
        found.setdefault(job_id, []).append(predecessor_id)
    return found


def outcomes(tx: Connection) -> dict[str, int]:
    """How many jobs ended in each outcome."""
    by_status, interrupted = _counts(tx, _BY_STATUS), _counts(tx, _INTERRUPTED)
    return {
        "succeeded": by_status.get(Status.SUCCESS, 0),
        "failed": by_status.get(Status.FAILURE, 0),
        "cancelled": interrupted.get("cancelled", 0),
        "expired": interrupted.get("expired", 0),
    }


def slots_taken(tx: Connection, epochs: Collection[int] | None = None) -> tuple[int, int]:
    """Threads that execute something, and those of them whose job is no longer running.

    ``epochs``: of these epochs' clusters alone.
    """
    by_status = _counts(tx, _SLOTS if epochs is None else _SLOTS.where(attempts.c.epoch.in_(epochs)))
    taken = sum(by_status.values())
    return taken, taken - by_status.get(Status.RUNNING, 0)


def newest_durations(tx: Connection) -> list[tuple[str, str, float]]:
    """``(workflow, queue, seconds)`` of the newest successful executions."""
    return [(row[0], row[1], row[2]) for row in tx.execute(_NEWEST_SUCCESSES)]


def queue_sizes(tx: Connection) -> dict[str, int]:
    """Every queue that has or had jobs, with how many."""
    return _counts(tx, _QUEUES)


def finished_since(tx: Connection, since: float) -> dict[str, int]:
    """``queue → jobs that ended since then``."""
    statement = (
        select(admissions.c.queue, func.count())
        .where(admissions.c.finished_at >= since)
        .group_by(admissions.c.queue)
    )
    return _counts(tx, statement)


def _counts(tx: Connection, statement: Select[Any]) -> dict[str, int]:
    return {row[0]: row[1] for row in tx.execute(statement)}
