"""What ``fsck`` asks about executions: fences, attempts, leases, the deadline. Only rows that should not exist."""

from sqlalchemy import Connection, String, cast, func, literal, or_, select, union_all

from jobdeck_backend.jobs.records import Status
from jobdeck_backend.plural import plural
from jobdeck_backend.store.tables import admissions, attempts, jobs, leases, stages, transitions

# A worker looks at the deadline, then at the clock again for the record.
BETWEEN_LOOKS_S = 1.0


def falling_fences(tx: Connection) -> list[tuple[str, str]]:
    """Fences that fell, that two executions share, or that are above their job's (I7)."""
    wrong = []
    for table, order, name, strictly in (
        (transitions, transitions.c.id, transitions.c.name, False),
        (attempts, attempts.c.attempt, literal("attempt ") + cast(attempts.c.attempt, String), True),
    ):
        before = func.lag(table.c.fence).over(partition_by=table.c.job_id, order_by=order)
        steps = select(table.c.job_id, name.label("name"), table.c.fence, before.label("before")).subquery()
        fell = steps.c.fence <= steps.c.before if strictly else steps.c.fence < steps.c.before
        wrong += [
            (row.job_id, f"{row.name} has fence {row.fence}, the one before it {row.before}")
            for row in tx.execute(select(steps).where(fell))
        ]
    used = union_all(
        select(transitions.c.job_id, transitions.c.fence), select(attempts.c.job_id, attempts.c.fence)
    ).subquery()
    above = (
        select(jobs.c.job_id, jobs.c.fence, func.max(used.c.fence).label("highest"))
        .join(used, used.c.job_id == jobs.c.job_id)
        .group_by(jobs.c.job_id)
        .having(func.max(used.c.fence) > jobs.c.fence)
    )
    return wrong + [
        (row.job_id, f"fence {row.highest} was given out, the job is at {row.fence}")
        for row in tx.execute(above)
    ]


def miscounted_attempts(tx: Connection) -> list[tuple[str, str]]:
    """Jobs whose number of claims is not that of the executions on record (I8)."""
    highest = func.coalesce(func.max(attempts.c.attempt), 0)
    stored = func.count(attempts.c.attempt)
    statement = (
        select(jobs.c.job_id, jobs.c.attempt, stored.label("stored"), highest.label("highest"))
        .outerjoin(attempts, attempts.c.job_id == jobs.c.job_id)
        .group_by(jobs.c.job_id)
        .having(or_(stored != jobs.c.attempt, highest != jobs.c.attempt))
    )
    return [
        (
            row.job_id,
            f"the job counts {plural(row.attempt, 'attempt')}; {row.stored} are on record, up to {row.highest}",
        )
        for row in tx.execute(statement)
    ]


def impossible_leases(tx: Connection) -> list[tuple[str, str]]:
    """Leases without an epoch, and attempts of a scheduler epoch that never began (I8)."""
    wrong = [
        ("", f"the {row.role} lease has epoch {row.epoch}")
        for row in tx.execute(select(leases.c.role, leases.c.epoch).where(leases.c.epoch < 1))
    ]
    newest = select(leases.c.epoch).where(leases.c.role == "scheduler").scalar_subquery()
    early = select(attempts.c.job_id, attempts.c.attempt, attempts.c.epoch).where(attempts.c.epoch > newest)
    return wrong + [
        (row.job_id, f"attempt {row.attempt} ran under scheduler epoch {row.epoch}, which never began")
        for row in tx.execute(early)
    ]


def late_starts(tx: Connection) -> list[tuple[str, str]]:
    """Attempts and stages that began at or past the deadline, which only ever moves to a later time (I9)."""
    past = (
        select(attempts.c.job_id, attempts.c.attempt, (attempts.c.started_at - admissions.c.deadline))
        .join(admissions, admissions.c.job_id == attempts.c.job_id)
        .where(attempts.c.started_at >= admissions.c.deadline)
    )
    wrong = [
        (job_id, f"attempt {attempt} began {late_s:.3f} s past the deadline")
        for job_id, attempt, late_s in tx.execute(past)
    ]
    stage_past = (
        select(stages.c.job_id, stages.c.node, (stages.c.started_at - admissions.c.deadline))
        .join(admissions, admissions.c.job_id == stages.c.job_id)
        .where(stages.c.started_at >= admissions.c.deadline + BETWEEN_LOOKS_S)
    )
    return wrong + [
        (job_id, f"stage {node} began {late_s:.3f} s past the deadline")
        for job_id, node, late_s in tx.execute(stage_past)
    ]


def unmarked_lateness(tx: Connection) -> list[tuple[str, str]]:
    """Successes after the deadline that do not say so (I10)."""
    statement = (
        select(admissions.c.job_id, (admissions.c.finished_at - admissions.c.deadline))
        .join(jobs, jobs.c.job_id == admissions.c.job_id)
        .where(
            jobs.c.status == Status.SUCCESS,
            admissions.c.finished_at > admissions.c.deadline,
            func.coalesce(admissions.c.outcome_reason, "").not_like("late by %"),
        )
    )
    return [
        (job_id, f"succeeded {late_s:.3f} s past the deadline without saying so")
        for job_id, late_s in tx.execute(statement)
    ]
