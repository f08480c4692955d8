"""Statements on admissions, jobs, dependencies, transitions, attempts and stages.

Functions take a connection that is inside a transaction; deciding what to write is ``commands``' business.
Updates state what they expect and tell whether it held: False means somebody moved on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert  # SQLite says it in the same words

from jobdeck_backend.jobs.records import (
    NO_DEADLINE,
    UNFINISHED,
    Admission,
    Attempt,
    Job,
    StageRun,
    Status,
    Transition,
)
from jobdeck_backend.store.engine import locks
from jobdeck_backend.store.prepared import Prepared
from jobdeck_backend.store.tables import admissions, attempts, dependencies, jobs, stages, transitions

_JOB = [jobs.c[field.name] for field in fields(Job)]
_ADMISSION = [admissions.c[field.name] for field in fields(Admission)]
_ATTEMPT = [attempts.c[field.name] for field in fields(Attempt)]
_STAGE = [stages.c[field.name] for field in fields(StageRun)]

_INSERT_ADMISSION = Prepared(
    insert(admissions)
    .on_conflict_do_nothing(index_elements=["job_id"])
    .execution_options(preserve_rowcount=True)
)
_INSERT_JOB = Prepared(jobs.insert())
_INSERT_TRANSITION = Prepared(transitions.insert().inline())  # nobody asks for the number it gets
_LOAD_JOB = select(*_JOB).where(jobs.c.job_id == bindparam("id"))
_LOCK_JOB = _LOAD_JOB.with_for_update()
_LOAD_ADMISSION = select(*_ADMISSION).where(admissions.c.job_id == bindparam("id"))
_BOTH = (
    select(*_JOB, *_ADMISSION)
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .where(jobs.c.job_id == bindparam("id"))
)
# Both rows: of one that is only joined, PostgreSQL shows what it was before the wait for the other's lock.
_LOCK_BOTH = Prepared(_BOTH.with_for_update())
_LOAD_BOTH = Prepared(_BOTH)
# Executed with the changed columns beside these parameters: a statement built once costs a fifth of a new one.
_UPDATE_JOB = update(jobs).where(
    jobs.c.job_id == bindparam("expected_id"),
    jobs.c.status == bindparam("expected_status"),
    jobs.c.fence == bindparam("expected_fence"),
)
_MOVE_JOB = Prepared(
    _UPDATE_JOB.values(event_seq=jobs.c.event_seq + bindparam("told")).returning(jobs.c.event_seq)
)
_UPDATE_ADMISSION = update(admissions).where(admissions.c.job_id == bindparam("expected_id"))
_END_ADMISSION = Prepared(_UPDATE_ADMISSION.returning(admissions.c.callback_url, admissions.c.deadline))
_PREDECESSORS = (
    select(jobs.c.job_id, jobs.c.status, jobs.c.output)
    .join(dependencies, dependencies.c.predecessor_id == jobs.c.job_id)
    .where(dependencies.c.job_id == bindparam("id"))
    .order_by(jobs.c.job_id)
)
_INSERT_ATTEMPT = Prepared(attempts.insert())
_LIVE_ATTEMPT = select(attempts.c.attempt).where(
    attempts.c.job_id == bindparam("id"), attempts.c.ended_at.is_(None)
)
_ENDING = update(attempts).where(
    attempts.c.job_id == bindparam("expected_id"),
    attempts.c.attempt == bindparam("expected_attempt"),
    attempts.c.ended_at.is_(None),
)
_END_ATTEMPT = Prepared(_ENDING)
_END_SILENT_ATTEMPT = Prepared(_ENDING.where(attempts.c.heartbeat_at == bindparam("expected_heartbeat")))
_INSERT_STAGES = Prepared(stages.insert())
_RENEW = (
    update(attempts)
    .where(
        attempts.c.job_id == bindparam("id"),
        attempts.c.attempt == bindparam("number"),
        attempts.c.ended_at.is_(None),
    )
    .values(heartbeat_at=bindparam("now"))
)
_NEAREST_DEPENDENT = (
    # A filter of the aggregate: in WHERE, the status would have SQLite begin with all unfinished jobs.
    select(func.min(jobs.c.dispatch_deadline).filter(jobs.c.status.in_(UNFINISHED)))
    .join(dependencies, dependencies.c.job_id == jobs.c.job_id)
    .where(dependencies.c.predecessor_id == bindparam("id"))
)
_STATE_OF_CLAIM = (
    select(jobs.c.status, jobs.c.fence, admissions.c.deadline)
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .where(jobs.c.job_id == bindparam("id"))
)
_STATUS_COLUMNS = (
    *(jobs.c[name] for name in ("status", "error", "attempt", "started_at", "worker")),
    *(admissions.c[name] for name in ("agent_type", "accepted_at", "outcome", "deadline", "thread_id")),
    admissions.c.finished_at,
)
_STATUS = Prepared(
    select(*_STATUS_COLUMNS)
    .join(admissions, admissions.c.job_id == jobs.c.job_id)
    .where(jobs.c.job_id == bindparam("id"))
)
_CLAIM_STATE = Prepared(_STATE_OF_CLAIM)
_LOCK_CLAIM_STATE = Prepared(_STATE_OF_CLAIM.with_for_update(of=jobs))


def columns_of(record: Admission | Attempt | StageRun | Transition) -> dict[str, Any]:
    """A record's fields by column. ``dataclasses.asdict`` would copy every value deeply."""
    return {field: getattr(record, field) for field in record.__slots__}


def _job(row: Sequence[Any]) -> Job:
    return Job(row[0], Status(row[1]), *row[2:])


def insert_admission(tx: Connection, admission: Admission) -> bool:
    """Store the promise; False when the id is taken. Raises ``IntegrityError`` when its thread is in use."""
    return _INSERT_ADMISSION.run(tx, columns_of(admission)) == 1


def insert_admissions(tx: Connection, new: Sequence[Admission]) -> bool:
    """Store many promises; False when an id was taken, and then not all. Raises ``IntegrityError`` likewise."""
    return _INSERT_ADMISSION.run(tx, *map(columns_of, new)) == len(new)


def first_row(
    admission: Admission, *, dispatch_deadline: float, dependent: bool, stages_total: int | None
) -> dict[str, Any]:
    """The job record of a new admission, which comes with one event."""
    own = NO_DEADLINE if admission.deadline is None else admission.deadline
    return {
        "job_id": admission.job_id,
        "status": Status.SUBMITTED,
        "event_seq": 1,
        "dispatch_deadline": dispatch_deadline,
        "yielded_deadline": own if dispatch_deadline > own else None,
        "priority": admission.priority,
        "accepted_at": admission.accepted_at,
        "dependent": dependent,
        "stages_total": stages_total,
    }


def insert_jobs(tx: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Store new job records."""
    _INSERT_JOB.run(tx, *rows)


def load_job(tx: Connection, job_id: str) -> Job | None:
    """The job record, or None. Nobody else changes it until the end of a transaction that writes (R14)."""
    row = tx.execute(_LOCK_JOB if locks(tx) else _LOAD_JOB, {"id": job_id}).first()
    return None if row is None else _job(row)


def load_admission(tx: Connection, job_id: str) -> Admission | None:
    """The admission record, or None."""
    row = tx.execute(_LOAD_ADMISSION, {"id": job_id}).first()
    return None if row is None else Admission(*row)


def load_both(tx: Connection, job_id: str) -> tuple[Admission, Job] | None:
    """Both records of a job in one statement, or None; they are kept as ``load_job`` keeps one."""
    row = (_LOCK_BOTH if locks(tx) else _LOAD_BOTH).first(tx, {"id": job_id})
    return None if row is None else (Admission(*row[len(_JOB) :]), _job(row[: len(_JOB)]))


def load_status(tx: Connection, job_id: str) -> dict[str, Any] | None:
    """What is asked most often of a job, by column, in one statement; None for an unknown one."""
    row = _STATUS.first(tx, {"id": job_id})
    names = (column.name for column in _STATUS_COLUMNS)
    return None if row is None else dict(zip(names, row, strict=True))


def update_job(tx: Connection, expected: Job, **columns: Any) -> bool:
    """Change a job that is still in the expected status under the expected fence (R14)."""
    return tx.execute(_UPDATE_JOB, _expecting(expected) | columns).rowcount == 1


def move_job(tx: Connection, expected: Job, told: int, **columns: Any) -> int | None:
    """As ``update_job``, taking the sequence numbers of ``told`` events: the last one, None when refused."""
    row = _MOVE_JOB.first(tx, _expecting(expected) | {"told": told} | columns)
    return None if row is None else row[0]


def _expecting(job: Job) -> dict[str, Any]:
    return {"expected_id": job.job_id, "expected_status": job.status, "expected_fence": job.fence}


def update_admission(tx: Connection, job_id: str, **columns: Any) -> None:
    """Change an admission's outcome or window."""
    tx.execute(_UPDATE_ADMISSION, {"expected_id": job_id} | columns)


def end_admission(
    tx: Connection, job_id: str, outcome: str, reason: str | None, now: float
) -> tuple[str | None, float | None]:
    """Store what became of the promise; answers ``(callback_url, deadline)``: who is to be told, and of what."""
    columns = {"outcome": outcome, "outcome_reason": reason, "finished_at": now}
    ended = _END_ADMISSION.first(tx, {"expected_id": job_id} | columns)
    assert ended is not None
    return ended[0], ended[1]


def insert_transitions(tx: Connection, made: Sequence[Transition]) -> None:
    """Put transitions on record."""
    _INSERT_TRANSITION.run(tx, *map(columns_of, made))


def insert_dependencies(tx: Connection, job_id: str, predecessor_ids: Iterable[str]) -> None:
    """Store what ``job_id`` waits for."""
    rows = [{"job_id": job_id, "predecessor_id": predecessor} for predecessor in predecessor_ids]
    if rows:
        tx.execute(dependencies.insert(), rows)


def hasten_predecessors(tx: Connection, job_ids: Sequence[str], deadline: float) -> None:
    """Let predecessors inherit a nearer deadline of a dependent, through the whole chain."""
    while job_ids:
        hastened = tx.execute(
            update(jobs)
            .where(jobs.c.job_id.in_(job_ids), jobs.c.dispatch_deadline > deadline)
            .values(dispatch_deadline=deadline)
            .returning(jobs.c.job_id)
        )
        changed = [row[0] for row in hastened]
        above = select(dependencies.c.predecessor_id).where(dependencies.c.job_id.in_(changed))
        job_ids = [row[0] for row in tx.execute(above)] if changed else []


def nearest_dependent_deadline(tx: Connection, job_id: str) -> float:
    """The nearest deadline among unfinished jobs that wait for this one, ``NO_DEADLINE`` without any."""
    nearest: float | None = tx.execute(_NEAREST_DEPENDENT, {"id": job_id}).scalar_one()
    return NO_DEADLINE if nearest is None else nearest


def load_predecessors(tx: Connection, job_id: str) -> list[tuple[str, Status, Any]]:
    """``(job_id, status, output)`` of each job this one waits for."""
    rows = tx.execute(_PREDECESSORS, {"id": job_id})
    return [(row[0], Status(row[1]), orjson.loads(row[2]) if row[2] else None) for row in rows]


def existing_job_ids(tx: Connection, job_ids: Sequence[str]) -> set[str]:
    """Which of these ids are known."""
    return {row[0] for row in tx.execute(select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids)))}


def insert_attempt(tx: Connection, attempt: Attempt) -> None:
    """Store the start of an execution."""
    _INSERT_ATTEMPT.run(tx, columns_of(attempt))


def renew_attempt(tx: Connection, job_id: str, attempt: int, now: float) -> bool:
    """Write the heartbeat; False when the attempt has been closed by somebody else."""
    return tx.execute(_RENEW, {"id": job_id, "number": attempt, "now": now}).rowcount == 1


def claim_state(tx: Connection, job_id: str) -> tuple[Status, int, float | None]:
    """The job's ``(status, fence, deadline)``: cheap enough to ask often. Holds the job as ``load_job`` does."""
    row = (_LOCK_CLAIM_STATE if locks(tx) else _CLAIM_STATE).first(tx, {"id": job_id})
    assert row is not None
    return Status(row[0]), row[1], row[2]


def end_attempt(
    tx: Connection,
    job_id: str,
    attempt: int,
    now: float,
    reason: str,
    *,
    heartbeat_at: float | None = None,
) -> bool:
    """Store that an execution's thread has ended; False when that was on record already, or when there has been a
    heartbeat since the one at ``heartbeat_at``."""
    expected = {"expected_id": job_id, "expected_attempt": attempt}
    values = {"ended_at": now, "end_reason": reason}
    statement = _END_ATTEMPT if heartbeat_at is None else _END_SILENT_ATTEMPT
    silent = {} if heartbeat_at is None else {"expected_heartbeat": heartbeat_at}
    return statement.run(tx, expected | silent | values) == 1


def has_live_attempt(tx: Connection, job_id: str) -> bool:
    """Whether some thread may still execute this job."""
    return tx.execute(_LIVE_ATTEMPT, {"id": job_id}).first() is not None


def thread_went_on(tx: Connection, job_id: str, thread_id: str) -> bool:
    """Whether another job was executed on this one's thread after it was."""
    executed_at = select(func.max(attempts.c.started_at)).where(attempts.c.job_id == job_id).scalar_subquery()
    statement = (
        select(attempts.c.job_id)
        .join(admissions, admissions.c.job_id == attempts.c.job_id)
        .where(admissions.c.thread_id == thread_id, attempts.c.job_id != job_id)
        .where(attempts.c.started_at > executed_at)
    )
    return tx.execute(statement.limit(1)).first() is not None


def load_attempts(tx: Connection, job_id: str) -> list[Attempt]:
    """All executions of a job, oldest first."""
    statement = select(*_ATTEMPT).where(attempts.c.job_id == job_id).order_by(attempts.c.attempt)
    return [Attempt(*row) for row in tx.execute(statement)]


def live_attempts(tx: Connection) -> list[Attempt]:
    """Executions whose end is not on record: the slots that are taken."""
    return [Attempt(*row) for row in tx.execute(select(*_ATTEMPT).where(attempts.c.ended_at.is_(None)))]


def insert_stages(tx: Connection, runs: Sequence[StageRun]) -> None:
    """Store completed stages. Raises ``IntegrityError`` if one is on record already (R20)."""
    _INSERT_STAGES.run(tx, *map(columns_of, runs))


def load_stages(tx: Connection, job_id: str) -> list[StageRun]:
    """Completed stages of a job in the order of their completion."""
    statement = (
        select(*_STAGE).where(stages.c.job_id == job_id).order_by(stages.c.completed_at, stages.c.step)
    )
    return [StageRun(*row) for row in tx.execute(statement)]


def last_transition_at(tx: Connection, job_id: str) -> float:
    """When a job's status was last written."""
    statement = select(func.max(transitions.c.at)).where(transitions.c.job_id == job_id)
    return float(tx.execute(statement).scalar_one())


def load_transitions(tx: Connection, job_id: str) -> list[dict[str, Any]]:
    """A job's transitions, oldest first, as column dictionaries."""
    statement = select(transitions).where(transitions.c.job_id == job_id).order_by(transitions.c.id)
    return [dict(row._mapping) for row in tx.execute(statement)]
