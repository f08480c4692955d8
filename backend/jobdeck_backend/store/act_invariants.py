"""What ``fsck`` asks about identities and acts: one job for each id, one audit row for each act."""

from sqlalchemy import Connection, and_, func, not_, or_, select

from jobdeck_backend.jobs.records import Outcome
from jobdeck_backend.store.tables import admissions, audit, jobs, transitions

_REFUSED = audit.c.result.like("refused:%")
# By the act's name, the transition it makes.
_MAKES = {"cancel": "cancelled", "expire": "expired", "resume": "resumed"}


def shared_threads(tx: Connection) -> list[tuple[str, str]]:
    """Job records without an admission, and threads with more than one unfinished job (I2)."""
    orphans = (
        select(jobs.c.job_id)
        .outerjoin(admissions, admissions.c.job_id == jobs.c.job_id)
        .where(admissions.c.job_id.is_(None))
    )
    wrong = [(row.job_id, "the job was never admitted") for row in tx.execute(orphans)]
    live = (
        select(admissions.c.thread_id, func.count().label("jobs"), func.min(admissions.c.job_id).label("one"))
        .where(admissions.c.outcome.is_(None))
        .group_by(admissions.c.thread_id)
        .having(func.count() > 1)
    )
    return wrong + [
        (row.one, f"thread {row.thread_id} has {row.jobs} unfinished jobs") for row in tx.execute(live)
    ]


def disagreeing_cancels(tx: Connection) -> list[tuple[str, str]]:
    """Cancelled jobs nobody asked to cancel, and other ends of jobs whose cancel was accepted (I12)."""
    cancelled = admissions.c.outcome == Outcome.CANCELLED
    asked = jobs.c.cancel_requested_at.is_not(None)
    statement = (
        select(jobs.c.job_id, admissions.c.outcome)
        .join(admissions, admissions.c.job_id == jobs.c.job_id)
        .where(
            or_(
                and_(cancelled, not_(asked)),
                and_(asked, or_(not_(cancelled), admissions.c.outcome.is_(None))),
            )
        )
    )
    return [
        (
            row.job_id,
            "cancelled, but nobody asked for it"
            if row.outcome == Outcome.CANCELLED
            else f"a cancel was accepted, the outcome is {row.outcome or 'open'}",
        )
        for row in tx.execute(statement)
    ]


def unrecorded_acts(tx: Connection) -> list[tuple[str, str]]:
    """Acts that are not in the audit exactly once, and audit rows of acts that never were (I20)."""
    wrong = []
    for act, name in _MAKES.items():
        # An act, its transition and its audit row are of one transaction and one moment.
        of_act = and_(audit.c.act == act, not_(_REFUSED))
        same = and_(of_act, audit.c.job_id == transitions.c.job_id, audit.c.at == transitions.c.at)
        made = transitions.c.name == name
        if act == "expire":
            made = and_(made, transitions.c.reason.like("by operator%"))
        counted = (
            select(transitions.c.job_id, func.count(audit.c.id).label("rows"))
            .outerjoin(audit, same)
            .where(made)
            .group_by(transitions.c.id)
            .having(func.count(audit.c.id) != 1)
        )
        wrong += [(row.job_id, f"{name}, with {row.rows} audit rows") for row in tx.execute(counted)]
        invented = (
            select(audit.c.job_id, audit.c.id)
            .outerjoin(transitions, and_(same, transitions.c.name == name))
            # The audit outlives the jobs that were pruned.
            .join(jobs, jobs.c.job_id == audit.c.job_id)
            .where(of_act, transitions.c.id.is_(None))
        )
        wrong += [
            (row.job_id or "", f"audit row {row.id} tells of a {act} that never happened")
            for row in tx.execute(invented)
        ]
    return wrong
