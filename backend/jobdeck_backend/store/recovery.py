"""What the reaper reads: the few jobs that may need something done."""

from dataclasses import fields
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Float, ScalarSelect, Select, and_, bindparam, func, select, union

from jobdeck_backend.jobs.records import Attempt, Job, Policy, Status
from jobdeck_backend.store.effects import OPEN
from jobdeck_backend.store.tables import (
    UNACKNOWLEDGED,
    admissions,
    attempts,
    effects,
    jobs,
    stages,
    transitions,
)

_JOB = [jobs.c[field.name] for field in fields(Job)]
_ATTEMPT = [attempts.c[field.name] for field in fields(Attempt)]
# Where in a row of candidates the attempt's columns begin, and where they end.
_OF_ATTEMPT = len(_JOB)
_REST = _OF_ATTEMPT + len(_ATTEMPT)
_earlier = attempts.alias("earlier")
_RESUMED_AT = (
    select(func.max(transitions.c.at))
    .where(transitions.c.job_id == jobs.c.job_id, transitions.c.name == "resumed")
    .correlate(jobs)
    .scalar_subquery()
)
_LOST_ATTEMPTS = (
    select(func.count())
    .where(
        _earlier.c.job_id == jobs.c.job_id,
        _earlier.c.end_reason == "worker lost",
        _earlier.c.started_at > func.coalesce(_RESUMED_AT, 0.0),
    )
    .correlate(jobs)
    .scalar_subquery()
)


def _of_last_stage(column: Column[Any]) -> ScalarSelect[Any]:
    newest_first = select(column).where(stages.c.job_id == jobs.c.job_id).order_by(stages.c.step.desc())
    return newest_first.limit(1).correlate(jobs).scalar_subquery()


_UNKNOWN_EFFECT = (
    select(effects.c.key)
    .where(effects.c.job_id == jobs.c.job_id, effects.c.state.in_(OPEN), effects.c.policy == Policy.MANUAL)
    .order_by(effects.c.intent_at)
    .limit(1)
    .correlate(jobs)
    .scalar_subquery()
)
_EVIDENCE = [
    _LOST_ATTEMPTS,
    _of_last_stage(stages.c.node),
    _of_last_stage(stages.c.checkpoint_id),
    _UNKNOWN_EFFECT,
]


class Candidate(NamedTuple):
    """A job that may need something done, its execution that has not ended, and what a plan for it rests on."""

    job: Job
    thread_id: str
    deadline: float | None
    attempt: Attempt | None
    lost_attempts: int
    """Executions that ended with their worker, since the job was last resumed by a person."""
    last_stage: str | None
    """The newest completed stage, and the checkpoint it is saved in."""
    checkpoint_id: str | None
    unknown_effect: str | None
    """Key of its first open effect about which only a person can tell."""


def _asked(*, with_held: bool) -> Select[Any]:
    now = bindparam("now", type_=Float)
    # Each of these walks an index: the reaper looks twice a second, however many jobs are on record.
    asked = [
        select(jobs.c.job_id).where(jobs.c.status == Status.RUNNING),
        select(jobs.c.job_id).where(jobs.c.status == Status.SUBMITTED, jobs.c.dispatch_deadline <= now),
        select(jobs.c.job_id).where(jobs.c.status == Status.SUBMITTED, jobs.c.yielded_deadline <= now),
        select(attempts.c.job_id).where(attempts.c.ended_at.is_(None)),
        select(jobs.c.job_id).where(UNACKNOWLEDGED),
    ]
    if with_held:
        asked.append(
            select(jobs.c.job_id).where(jobs.c.status == Status.SUBMITTED, jobs.c.held_reason.is_not(None))
        )
    live = and_(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None))
    return (
        select(*_JOB, *_ATTEMPT, admissions.c.thread_id, admissions.c.deadline, *_EVIDENCE)
        .join(admissions, admissions.c.job_id == jobs.c.job_id)
        .outerjoin(attempts, live)
        .where(jobs.c.job_id.in_(union(*asked)))
    )


_CANDIDATES = {with_held: _asked(with_held=with_held) for with_held in (False, True)}


def candidates(tx: Connection, now: float, *, with_held: bool) -> list[Candidate]:
    """Jobs that run, are overdue, have a thread somewhere or wait for a cancel's acknowledgement.

    ``with_held``: those that wait for a person, too.
    """
    found = []
    for row in tx.execute(_CANDIDATES[with_held], {"now": now}).all():
        job_id, status, *rest = row[:_OF_ATTEMPT]
        execution = row[_OF_ATTEMPT:_REST]
        job = Job(job_id, Status(status), *rest)
        attempt = None if execution[0] is None else Attempt(*execution)
        thread_id, deadline, *evidence = row[_REST:]
        found.append(Candidate(job, thread_id, deadline, attempt, *evidence))
    return found


def in_line(tx: Connection) -> int:
    """How many jobs wait for the dispatcher or for a worker: nothing is to be recovered there."""
    statement = select(func.count()).where(jobs.c.status == Status.SUBMITTED, jobs.c.held_reason.is_(None))
    return int(tx.execute(statement).scalar_one())
