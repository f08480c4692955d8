"""What the recovery owner reads: the few jobs that may need something done, and what is known of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from sqlalchemy import Connection, and_, func, select, union

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
# Ids in one statement.
IDS_MAX = 500


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that may need something done, and its execution whose end is not on record."""

    job: Job
    thread_id: str
    deadline: float | None
    attempt: Attempt | None


@dataclass(frozen=True, slots=True)
class History:
    """What earlier executions of a job left."""

    lost_attempts: int = 0
    """Those that ended with their worker, since the job was last resumed by a person."""
    last_stage: str | None = None
    unknown_effect: str | None = None
    """Key of its first open effect about which only a person can tell."""


def candidates(tx: Connection, now: float, *, with_held: bool) -> list[Candidate]:
    """Jobs that run, are overdue, have a thread somewhere or wait for a cancel's acknowledgement."""
    # Each of these walks an index: the reaper looks twice a second, however many jobs are on record.
    asked = [
        select(jobs.c.job_id).where(jobs.c.status == Status.RUNNING),
        select(jobs.c.job_id).where(jobs.c.status == Status.SUBMITTED, jobs.c.dispatch_deadline <= now),
        select(attempts.c.job_id).where(attempts.c.ended_at.is_(None)),
        select(jobs.c.job_id).where(UNACKNOWLEDGED),
    ]
    if with_held:
        asked.append(
            select(jobs.c.job_id).where(jobs.c.status == Status.SUBMITTED, jobs.c.held_reason.is_not(None))
        )
    live = and_(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None))
    statement = (
        select(*_JOB, admissions.c.thread_id, admissions.c.deadline, *_ATTEMPT)
        .join(admissions, admissions.c.job_id == jobs.c.job_id)
        .outerjoin(attempts, live)
        .where(jobs.c.job_id.in_(union(*asked)))
    )
    found = []
    width = len(_JOB)
    for row in tx.execute(statement):
        job = Job(row[0], Status(row[1]), *row[2:width])
        attempt = Attempt(*row[width + 2 :]) if row[width + 2] is not None else None
        found.append(Candidate(job, row[width], row[width + 1], attempt))
    return found


def in_line(tx: Connection) -> int:
    """How many jobs wait for the dispatcher or for a worker: nothing is to be recovered there."""
    statement = select(func.count()).where(jobs.c.status == Status.SUBMITTED, jobs.c.held_reason.is_(None))
    return int(tx.execute(statement).scalar_one())


def histories(tx: Connection, job_ids: Sequence[str]) -> dict[str, History]:
    """The history of each of these jobs, in a few statements whatever their number."""
    found: dict[str, History] = {}
    for group in _groups(job_ids):
        lost = dict(_lost_attempts(tx, group))
        stage = dict(_last_stages(tx, group))
        unknown = dict(_unknown_effects(tx, group))
        for job_id in group:
            found[job_id] = History(lost.get(job_id, 0), stage.get(job_id), unknown.get(job_id))
    return found


def _groups(job_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(job_ids), IDS_MAX):
        yield job_ids[start : start + IDS_MAX]


def _lost_attempts(tx: Connection, job_ids: Sequence[str]) -> Iterator[tuple[str, int]]:
    resumed_at = (
        select(func.max(transitions.c.at))
        .where(transitions.c.job_id == attempts.c.job_id, transitions.c.name == "resumed")
        .scalar_subquery()
    )
    statement = (
        select(attempts.c.job_id, func.count())
        .where(
            attempts.c.job_id.in_(job_ids),
            attempts.c.end_reason == "worker lost",
            attempts.c.started_at > func.coalesce(resumed_at, 0.0),
        )
        .group_by(attempts.c.job_id)
    )
    return ((row[0], row[1]) for row in tx.execute(statement))


def _last_stages(tx: Connection, job_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    statement = (
        select(stages.c.job_id, stages.c.node).where(stages.c.job_id.in_(job_ids)).order_by(stages.c.step)
    )
    return ((row[0], row[1]) for row in tx.execute(statement))


def _unknown_effects(tx: Connection, job_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The first one of each job comes last, so that a dictionary keeps it."""
    statement = (
        select(effects.c.job_id, effects.c.key)
        .where(effects.c.job_id.in_(job_ids), effects.c.state.in_(OPEN), effects.c.policy == Policy.MANUAL)
        .order_by(effects.c.intent_at.desc())
    )
    return ((row[0], row[1]) for row in tx.execute(statement))
