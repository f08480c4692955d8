"""Places in the log over all jobs: what a reader has seen, as a text of which nobody else knows the meaning (R29).

SQLite gives positions under its one write lock: their order is the commit order, and the newest one seen is the
place. PostgreSQL gives them as they are asked for, and a transaction may commit after others that began later.
There a place is the snapshot a reader had: new is what it did not show, whenever that was begun.
"""

import re
from dataclasses import fields
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    any_,
    bindparam,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import is_postgres
from jobdeck_backend.store.prepared import Prepared
from jobdeck_backend.store.tables import events as table

START = "0"
"""Before the first event of a SQLite log."""

_SNAPSHOT = re.compile(r"(\d{1,19}):(\d{1,19}):((?:\d{1,19}(?:,\d{1,19})*)?)", re.ASCII)
_POSITION = re.compile(r"\d{1,18}", re.ASCII)
_READ_SNAPSHOT = text("SELECT pg_current_snapshot()::text")
# Which transaction appended it: a column of PostgreSQL's table only, filled in by its default.
_appended_by = literal_column("events.xid", BigInteger)
_UNSEEN = or_(
    _appended_by >= bindparam("upper", type_=BigInteger),
    _appended_by == any_(bindparam("open", type_=ARRAY(BigInteger))),
)
_EVENT = [table.c[field.name] for field in fields(StoredEvent)]
_LOOK = Prepared(
    select(text("pg_current_snapshot()::text"), *_EVENT)
    .select_from(select(literal_column("1").label("one")).subquery().outerjoin(table, _UNSEEN))
    .order_by(table.c.position)
)
_NEW_POSITION = table.c.position > bindparam("after", type_=BigInteger)
_JOBS = select(table.c.job_id).distinct()


def end(tx: Connection) -> str:
    """The place behind everything that this transaction's snapshot shows."""
    if is_postgres(tx):
        return str(tx.execute(_READ_SNAPSHOT).scalar_one())
    return str(events.last_position(tx))


def exists(tx: Connection, place: str) -> bool:
    """Whether this log may have given that place."""
    if not is_postgres(tx):
        return _POSITION.fullmatch(place) is not None and int(place) <= events.last_position(tx)
    snapshot, now = _SNAPSHOT.fullmatch(place), _SNAPSHOT.fullmatch(end(tx))
    return snapshot is not None and now is not None and int(snapshot[2]) <= int(now[2])


def look(connection: Connection, place: str) -> tuple[list[StoredEvent], str]:
    """Every event that a reader at ``place`` has not seen, each job's in order, and the place behind them.

    One statement, for a PostgreSQL connection that has no transaction.
    """
    rows = _LOOK.rows(connection, _unseen(connection, place)[1])
    return [StoredEvent(*row[1:]) for row in rows if row[1] is not None], rows[0][0]


def jobs_with_news(tx: Connection, place: str) -> list[str]:
    """The jobs of which a reader at ``place`` has not seen every event."""
    condition, parameters = _unseen(tx, place)
    return list(tx.execute(_JOBS.where(condition), parameters).scalars())


def _unseen(tx: Connection, place: str) -> tuple[ColumnElement[bool], dict[str, Any]]:
    if not is_postgres(tx):
        return _NEW_POSITION, {"after": int(place)}
    snapshot = _SNAPSHOT.fullmatch(place)
    assert snapshot is not None, place
    open_then = [int(one) for one in snapshot[3].split(",") if one]
    return _UNSEEN, {"upper": int(snapshot[2]), "open": open_then}
