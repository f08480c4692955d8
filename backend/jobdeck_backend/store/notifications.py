"""Statements on notifications: what callers are owed."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from jobdeck_backend.jobs.records import Notification, NotificationState
from jobdeck_backend.store.tables import admissions, notifications

_NOTIFICATION = [notifications.c[field.name] for field in fields(Notification)]
_STATE_AT = [column.name for column in _NOTIFICATION].index("state")
_CALLBACK = select(admissions.c.callback_url, admissions.c.deadline).where(
    admissions.c.job_id == bindparam("id")
)
_NEXT_DUE = select(func.min(notifications.c.next_at)).where(notifications.c.next_at.is_not(None))


def _notification(row: Sequence[Any]) -> Notification:
    values = list(row)
    values[_STATE_AT] = NotificationState(values[_STATE_AT])
    return Notification(*values)


def callback_of(tx: Connection, job_id: str) -> tuple[str | None, float | None]:
    """``(callback_url, deadline)`` of a job; None for a URL: its caller does not want to be told."""
    url, deadline = tx.execute(_CALLBACK, {"id": job_id}).one()
    return url, deadline


def insert(tx: Connection, notification: Notification) -> None:
    """Put on record what a caller is owed."""
    tx.execute(notifications.insert(), asdict(notification))


def next_due(tx: Connection) -> float | None:
    """When the next attempt is due, or None when nothing is owed."""
    at: float | None = tx.execute(_NEXT_DUE).scalar_one()
    return at


def take(tx: Connection, now: float, limit: int, until: float) -> list[Notification]:
    """Count one attempt for each of the notifications that are due, at most ``limit``, and answer them.

    Nobody else takes them before ``until``; who took them settles them by then or leaves them to a next attempt.
    """
    due = (
        select(notifications.c.id)
        .where(notifications.c.next_at <= now)
        .order_by(notifications.c.next_at)
        .limit(limit)
        .with_for_update(skip_locked=True)  # on PostgreSQL: what another backend is taking is not taken twice
    )
    statement = (
        update(notifications)
        .where(notifications.c.id.in_(due))
        .values(attempts=notifications.c.attempts + 1, next_at=until)
        .returning(*_NOTIFICATION)
    )
    return [_notification(row) for row in tx.execute(statement)]


def settle(tx: Connection, taken: Notification, **columns: Any) -> bool:
    """Store what an attempt came to; False when a later attempt has begun meanwhile."""
    statement = update(notifications).where(
        notifications.c.id == taken.id,
        notifications.c.attempts == taken.attempts,
        notifications.c.state == NotificationState.PENDING,
    )
    return tx.execute(statement.values(**columns)).rowcount == 1


def load(tx: Connection, notification_id: str) -> Notification | None:
    """One notification, or None."""
    row = tx.execute(select(*_NOTIFICATION).where(notifications.c.id == notification_id)).first()
    return None if row is None else _notification(row)


def reopen(tx: Connection, notification_id: str, now: float) -> bool:
    """Let one that was given up be sent again now; False when it was not given up."""
    statement = update(notifications).where(
        notifications.c.id == notification_id, notifications.c.state == NotificationState.FAILED
    )
    return tx.execute(statement.values(state=NotificationState.PENDING, next_at=now)).rowcount == 1


def of_job(tx: Connection, job_id: str) -> list[Notification]:
    """All that a job's caller was to be told, oldest first."""
    statement = select(*_NOTIFICATION).where(notifications.c.job_id == job_id)
    return [_notification(row) for row in tx.execute(statement.order_by(notifications.c.created_at))]


def newest_of_job(tx: Connection, job_id: str) -> Notification | None:
    """The last thing a job's caller was to be told."""
    statement = (
        select(*_NOTIFICATION)
        .where(notifications.c.job_id == job_id)
        .order_by(notifications.c.created_at.desc())
        .limit(1)
    )
    row = tx.execute(statement).first()
    return None if row is None else _notification(row)
