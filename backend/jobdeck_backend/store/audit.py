"""Every operator's act, done or refused (R36)."""

from typing import Any

from sqlalchemy import Connection, func, select

from jobdeck_backend.store.tables import audit


def append(
    tx: Connection,
    *,
    at: float,
    actor: str,
    act: str,
    job_id: str | None,
    version: int | None,
    reason: str | None,
    result: str,
) -> None:
    """Put one act on record."""
    row = {
        "at": at,
        "actor": actor,
        "act": act,
        "job_id": job_id,
        "version": version,
        "reason": reason,
        "result": result,
    }
    tx.execute(audit.insert(), row)


def read_after(tx: Connection, after: int, limit: int) -> list[dict[str, Any]]:
    """Acts after an id, oldest first, as column dictionaries."""
    statement = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(limit)
    return [{str(name): value for name, value in row._mapping.items()} for row in tx.execute(statement)]


def of_job(tx: Connection, job_id: str) -> list[dict[str, Any]]:
    """The acts on one job, oldest first, as column dictionaries."""
    statement = select(audit).where(audit.c.job_id == job_id).order_by(audit.c.id)
    return [{str(name): value for name, value in row._mapping.items()} for row in tx.execute(statement)]


def last_id(tx: Connection) -> int:
    """The newest act's id, 0 when there is none."""
    return int(tx.execute(select(func.coalesce(func.max(audit.c.id), 0))).scalar_one())
