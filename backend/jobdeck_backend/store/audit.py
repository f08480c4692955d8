"""Every operator's act, done or refused (R36)."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, not_, select

from jobdeck_backend.store.tables import audit

_REFUSED = audit.c.result.like("refused:%")


class Wanted(NamedTuple):
    """Which acts are asked for; None: whatever it is."""

    act: str | None = None
    actor: str | None = None
    job_id: str | None = None
    refused: bool | None = None


EVERY = Wanted()


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


def read_after(tx: Connection, after: int, limit: int, wanted: Wanted = EVERY) -> list[dict[str, Any]]:
    """Acts after an id, oldest first, as column dictionaries."""
    return _rows(tx, _select(wanted).where(audit.c.id > after).order_by(audit.c.id).limit(limit))


def read_before(
    tx: Connection, before: int | None, limit: int, wanted: Wanted = EVERY
) -> list[dict[str, Any]]:
    """Acts before an id, or the newest, newest first, as column dictionaries."""
    statement = _select(wanted).order_by(audit.c.id.desc()).limit(limit)
    return _rows(tx, statement if before is None else statement.where(audit.c.id < before))


def _select(wanted: Wanted) -> Select[Any]:
    statement = select(audit)
    for column in ("act", "actor", "job_id"):
        value = getattr(wanted, column)
        if value is not None:
            statement = statement.where(audit.c[column] == value)
    if wanted.refused is not None:
        statement = statement.where(_REFUSED if wanted.refused else not_(_REFUSED))
    return statement


def _rows(tx: Connection, statement: Select[Any]) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row._mapping.items()} for row in tx.execute(statement)]


def of_job(tx: Connection, job_id: str) -> list[dict[str, Any]]:
    """The acts on one job, oldest first, as column dictionaries."""
    statement = select(audit).where(audit.c.job_id == job_id).order_by(audit.c.id)
    return [{str(name): value for name, value in row._mapping.items()} for row in tx.execute(statement)]


def last_id(tx: Connection) -> int:
    """The newest act's id, 0 when there is none."""
    return int(tx.execute(select(func.coalesce(func.max(audit.c.id), 0))).scalar_one())
