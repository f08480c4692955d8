"""A transaction that outlasts an absence of its database: done once, however often it had to be begun.

For connections that somebody keeps. SQLite waits for its lock by itself; PostgreSQL may be restarted under us.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.store.engine import is_postgres
from jobdeck_backend.store.trouble import cause_of

log = structlog.get_logger(__name__)

T = TypeVar("T")

AWAY_MAX_S = 30.0
"""How long a database may be away before a transaction is given up."""
LOOK_S = 0.1

Begin = Callable[[Connection], AbstractContextManager[object]]


def transact(
    connection: Connection,
    work: Callable[[Connection], T],
    *,
    begin: Begin = Connection.begin,
    writes: bool = True,
) -> T:
    """Answer what ``work`` answers, once it is committed.

    ``work`` may be called again, so it keeps nothing outside its transaction; ``writes``: once committed, it must
    not be done again. Raises what it raises, and ``DBAPIError`` where the database stayed away for ``AWAY_MAX_S``
    or is at fault itself.
    """
    if not is_postgres(connection):
        with begin(connection):
            return work(connection)
    return _persist(connection, work, begin, writes=writes)


def _persist(connection: Connection, work: Callable[[Connection], T], begin: Begin, *, writes: bool) -> T:
    from jobdeck_backend.store.postgres import begun, is_away

    until = time.monotonic() + AWAY_MAX_S
    in_doubt: tuple[str, T] | None = None
    said = False
    while True:
        try:
            if in_doubt is not None and _was_committed(connection, in_doubt[0]):
                return in_doubt[1]
            in_doubt = None
            with begin(connection):
                transaction_id = begun(connection) if writes else None
                result = work(connection)
                if transaction_id is not None:
                    in_doubt = transaction_id, result
            return result
        except DBAPIError as error:
            if not is_away(error) or time.monotonic() >= until:
                raise
            if not said:
                log.warning("the database is away; the transaction is tried again", cause=cause_of(error))
            said = True
            time.sleep(LOOK_S)


def _was_committed(connection: Connection, transaction_id: str) -> bool:
    """Whether a transaction whose commit was not answered is in force."""
    while True:
        with connection.begin():
            asked = connection.exec_driver_sql("SELECT pg_xact_status(%s::xid8)", (transaction_id,))
            status = asked.scalar_one()
        if status != "in progress":
            return bool(status == "committed")
        time.sleep(LOOK_S)
