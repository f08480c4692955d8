"""What ``fsck`` asks the database: each query answers only rows that should not exist."""

from sqlalchemy import Connection, and_, case, exists, false, func, or_, select

from jobdeck_backend.jobs.records import EffectState, Outcome, Status
from jobdeck_backend.plural import plural
from jobdeck_backend.store.effects import OPEN
from jobdeck_backend.store.tables import (
    admissions,
    attempts,
    effects,
    events,
    jobs,
    notifications,
    stages,
    transitions,
)

# What a status says of the admission's outcome (R13, R10).
_OUTCOMES: dict[Status, set[Outcome | None]] = {
    Status.SUBMITTED: {None},
    Status.RUNNING: {None},
    Status.SUCCESS: {Outcome.SUCCEEDED},
    Status.FAILURE: {Outcome.FAILED},
    Status.INTERRUPTED: {Outcome.CANCELLED, Outcome.EXPIRED},
}


def sequence_gaps(tx: Connection) -> list[tuple[str, str]]:
    """``(job_id, what is wrong)`` where sequence numbers have gaps or do not follow the commit order (I4)."""
    per_job = (
        select(
            events.c.job_id,
            func.count().label("stored"),
            func.min(events.c.seq).label("first"),
            func.max(events.c.seq).label("last"),
        )
        .group_by(events.c.job_id)
        .subquery()
    )
    statement = (
        select(jobs.c.job_id, jobs.c.event_seq, per_job.c.stored, per_job.c.first, per_job.c.last)
        .outerjoin(per_job, per_job.c.job_id == jobs.c.job_id)
        .where(
            or_(
                per_job.c.first.is_distinct_from(1),
                per_job.c.last.is_distinct_from(jobs.c.event_seq),
                per_job.c.stored.is_distinct_from(jobs.c.event_seq),
            )
        )
    )
    wrong = [
        (
            row.job_id,
            f"{plural(row.stored, 'event')} from {row.first} to {row.last}, the job says {row.event_seq}",
        )
        for row in tx.execute(statement)
    ]
    before = func.lag(events.c.seq).over(partition_by=events.c.job_id, order_by=events.c.position)
    ordered = select(events.c.job_id, events.c.seq, before.label("before")).subquery()
    disordered = select(ordered.c.job_id, ordered.c.seq).where(ordered.c.seq <= ordered.c.before)
    return wrong + [
        (row.job_id, f"event {row.seq} was committed out of order") for row in tx.execute(disordered)
    ]


def transition_steps(tx: Connection) -> list[tuple[str, str | None, str | None, str, str]]:
    """``(job_id, status before by the row, status before by the history, name, status after)``, in order."""
    before = func.lag(transitions.c.to_status).over(
        partition_by=transitions.c.job_id, order_by=transitions.c.id
    )
    statement = select(
        transitions.c.job_id,
        transitions.c.from_status,
        before.label("history"),
        transitions.c.name,
        transitions.c.to_status,
    ).order_by(transitions.c.job_id, transitions.c.id)
    return [(row[0], row[1], row[2], row[3], row[4]) for row in tx.execute(statement)]


def last_words(tx: Connection) -> list[tuple[str, str, str | None, str, str, str | None]]:
    """``(job_id, status, outcome, last transition's name, its status, last status in the log)`` of each job."""
    newest = select(func.max(transitions.c.id)).group_by(transitions.c.job_id)
    told = (
        select(events.c.job_id, func.max(events.c.seq).label("seq"))
        .where(events.c.status.is_not(None))
        .group_by(events.c.job_id)
        .subquery()
    )
    statement = (
        select(
            jobs.c.job_id,
            jobs.c.status,
            admissions.c.outcome,
            transitions.c.name,
            transitions.c.to_status,
            events.c.status,
        )
        .join(admissions, admissions.c.job_id == jobs.c.job_id)
        .join(transitions, and_(transitions.c.job_id == jobs.c.job_id, transitions.c.id.in_(newest)))
        .outerjoin(told, told.c.job_id == jobs.c.job_id)
        .outerjoin(events, and_(events.c.job_id == told.c.job_id, events.c.seq == told.c.seq))
    )
    return [(row[0], row[1], row[2], row[3], row[4], row[5]) for row in tx.execute(statement)]


def disagreeing_outcomes(tx: Connection) -> list[tuple[str, str]]:
    """Jobs whose admission and job record tell different ends."""
    agreeing = or_(
        *(
            and_(
                jobs.c.status == status,
                admissions.c.outcome.is_(None)
                if outcome is None
                else and_(admissions.c.outcome == outcome, admissions.c.finished_at.is_not(None)),
            )
            for status, outcomes in _OUTCOMES.items()
            for outcome in outcomes
        )
    )
    statement = (
        select(admissions.c.job_id, jobs.c.status, admissions.c.outcome)
        .outerjoin(jobs, jobs.c.job_id == admissions.c.job_id)
        .where(or_(jobs.c.job_id.is_(None), ~func.coalesce(agreeing, false())))
    )
    return [
        (row.job_id, f"the job is {row.status or 'missing'}, its outcome {row.outcome or 'open'}")
        for row in tx.execute(statement)
    ]


def untold_callers(tx: Connection) -> list[tuple[str, str]]:
    """Jobs that ended and whose caller, who gave a URL, is owed nothing for it (R8)."""
    told = exists().where(
        notifications.c.job_id == admissions.c.job_id, notifications.c.created_at >= admissions.c.finished_at
    )
    statement = select(admissions.c.job_id, admissions.c.outcome).where(
        admissions.c.outcome.is_not(None), admissions.c.callback_url.is_not(None), ~told
    )
    return [(row.job_id, f"the job {row.outcome}, its caller is not told") for row in tx.execute(statement)]


def repeated_stages(tx: Connection) -> list[tuple[str, str]]:
    """Stages on record that an attempt cannot have completed, or that completed twice (I6)."""
    twice = (
        select(stages.c.job_id, stages.c.node, stages.c.step)
        .group_by(stages.c.job_id, stages.c.node, stages.c.step)
        .having(func.count() > 1)
    )
    wrong = [(row.job_id, f"stage {row.node} (step {row.step}) completed twice") for row in tx.execute(twice)]
    known = and_(attempts.c.job_id == stages.c.job_id, attempts.c.attempt == stages.c.attempt)
    orphans = (
        select(stages.c.job_id, stages.c.node, stages.c.attempt)
        .outerjoin(attempts, known)
        .where(attempts.c.job_id.is_(None))
    )
    return wrong + [
        (row.job_id, f"stage {row.node} names attempt {row.attempt}, which never was")
        for row in tx.execute(orphans)
    ]


def unexplained_attempts(tx: Connection) -> list[tuple[str, str]]:
    """Running jobs without exactly one live attempt of theirs, and live attempts that nothing explains (I8)."""
    own = case((attempts.c.attempt == jobs.c.attempt, 1), else_=0)
    live = (
        select(jobs.c.job_id, func.count(attempts.c.attempt).label("live"), func.sum(own).label("own"))
        .outerjoin(attempts, and_(attempts.c.job_id == jobs.c.job_id, attempts.c.ended_at.is_(None)))
        .group_by(jobs.c.job_id)
        .subquery()
    )
    statement = (
        select(jobs.c.job_id, jobs.c.status, live.c.live)
        .join(live, live.c.job_id == jobs.c.job_id)
        .where(
            or_(
                live.c.live > 1,
                and_(jobs.c.status == Status.RUNNING, live.c.own != 1),
                # A thread may outlive a cancel or an expiry, and a resume of either; never a success.
                and_(jobs.c.status == Status.SUCCESS, live.c.live > 0),
            )
        )
    )
    return [
        (row.job_id, f"the job is {row.status} and has {row.live} live attempts")
        for row in tx.execute(statement)
    ]


def untrue_effects(tx: Connection) -> list[tuple[str, str]]:
    """Successes over an open effect, intents nobody is behind, settled effects without who and when (I11)."""
    settled = and_(effects.c.settled_at.is_not(None), effects.c.settled_by.is_not(None))
    unsettled = and_(effects.c.settled_at.is_(None), effects.c.settled_by.is_(None))
    is_open, is_intent = effects.c.state.in_(OPEN), effects.c.state == EffectState.INTENT
    statement = (
        select(effects.c.job_id, effects.c.key, effects.c.state, jobs.c.status, effects.c.settled_by)
        .join(jobs, jobs.c.job_id == effects.c.job_id)
        .where(
            or_(
                and_(jobs.c.status == Status.SUCCESS, is_open),
                and_(jobs.c.status != Status.RUNNING, is_intent),
                and_(is_open, ~unsettled),
                and_(~is_open, ~settled),
                and_(effects.c.state == EffectState.HAPPENED, effects.c.proof.is_(None)),
            )
        )
    )
    return [
        (
            row.job_id,
            f"effect {row.key} is {row.state} by {row.settled_by or 'nobody'}, the job is {row.status}",
        )
        for row in tx.execute(statement)
    ]


def intents(tx: Connection) -> dict[str, int]:
    """Effect key → how often its call was about to be made."""
    return {row.key: row.intents for row in tx.execute(select(effects.c.key, effects.c.intents))}
