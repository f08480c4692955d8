"""PostgreSQL's answers: a server somewhere, locks on rows, connections that come and go with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import URL, Connection, Engine, ExceptionContext, String, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.ext.compiler import compiles

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.store.sqlite import Synchronous
from jobdeck_backend.store.trouble import hide_values

CHANNEL = "jobdeck_events"
"""Each transaction that appends events tells their jobs' ids here; a trigger sees to it."""
EXIT_DATABASE = 13

CONNECT_TIMEOUT_S = 5
# A process stopped amid a transaction lets go of its rows after so long: PostgreSQL ends its session.
IDLE_IN_TRANSACTION_S = 5
# Upper bound of one wait for a row. Longer than any transaction of ours, and than a stopped one's.
LOCK_TIMEOUT_S = 15
# Given up by the server, to be done again: serialization, deadlock, no lock, no room, going down.
_AGAIN = {"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03"}


@compiles(String, "postgresql")
def _unbounded(_type: String, _compiler: Any, **_: Any) -> str:
    """Lengths are said for the reader; only PostgreSQL would hold a long name of a graph's node to them."""
    return "TEXT"


class _Text(StrDumperUnknown):
    """PostgreSQL has no NUL in texts. A job's error or note must be stored all the same."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd"))


class Postgres:
    """A database on a server, by its URL."""

    path: Path | None = None
    clock = "SELECT extract(epoch FROM clock_timestamp())::float8"

    def __init__(self, url: str) -> None:
        """Raises ``StartRefused``, without repeating it, for what is no PostgreSQL URL."""
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):
            parsed = None
        if parsed is None or parsed.drivername.partition("+")[0] not in {"postgresql", "postgres"}:
            raise StartRefused(
                "the database's URL is not one of PostgreSQL (postgresql://user:password@host:port/database); "
                "nothing was changed",
                EXIT_DATABASE,
            )
        self._url = parsed.set(drivername="postgresql+psycopg")
        self.name = shown(parsed)

    def open_engine(self, *, synchronous: Synchronous, write: bool) -> Engine:
        """An engine whose writing transactions see what is committed and lock what they load to change it; its
        reading ones are snapshots."""
        engine = create_engine(
            self._url,
            connect_args=_CONNECT,
            use_native_hstore=False,
            isolation_level="READ COMMITTED" if write else "REPEATABLE READ",
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=15,
            hide_parameters=True,  # as for SQLite
        )
        # A crash of the database alone loses nothing either way; NORMAL waits for no standby.
        settings = (
            f"SET synchronous_commit = {'on' if synchronous == 'FULL' else 'local'};"
            f"SET idle_in_transaction_session_timeout = '{IDLE_IN_TRANSACTION_S}s';"
            f"SET lock_timeout = '{LOCK_TIMEOUT_S}s';"
            f"SET default_transaction_read_only = {'off' if write else 'on'}"
        )

        @event.listens_for(engine, "connect")
        def _configure(connection: psycopg.Connection[Any], _record: object) -> None:
            connection.adapters.register_dumper(str, _Text)
            connection.rollback()
            connection.autocommit = True
            connection.execute(settings)
            connection.autocommit = False

        @event.listens_for(engine, "handle_error")
        def _hide_values(context: ExceptionContext) -> None:
            hide_values(context.original_exception)
            if context.sqlalchemy_exception is not None:
                context.sqlalchemy_exception.args = (str(context.original_exception),)

        return engine.execution_options(locks=True) if write else engine

    def must_be_in_place(self) -> None:
        """A server that is away says so itself."""

    def connection_arguments(self) -> dict[str, Any]:
        """What psycopg itself needs to connect there."""
        named = self._url.translate_connect_args(username="user", database="dbname")
        return {**named, **self._url.query, **_CONNECT}


_CONNECT: Mapping[str, Any] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    # Whatever the server, its role or the environment would have it: texts are to come as such.
    "client_encoding": "utf8",
    # A server that vanished without a word is noticed within a quarter of a minute.
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


def driver_of(connection: Connection) -> psycopg.Connection[Any]:
    """The connection as its driver has it."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def begun(connection: Connection) -> str:
    """Begin the transaction on the server too, and answer its id: one message, where psycopg would send two."""
    driver = driver_of(connection)
    begin = b"BEGIN; " if driver.info.transaction_status == TransactionStatus.IDLE else b""
    result = driver.pgconn.exec_(begin + b"SELECT pg_current_xact_id()")
    if result.status == ExecStatus.TUPLES_OK:
        return (result.get_value(0, 0) or b"").decode()
    error = error_from_result(result)
    gone = bool(driver.closed)
    if gone:
        connection.invalidate(error)
    raise OperationalError("BEGIN", None, error, connection_invalidated=gone)


def is_away(error: DBAPIError) -> bool:
    """Whether the error is the server's absence or a transaction it gave up for another's sake: done once more, it
    may well succeed."""
    state = getattr(error.orig, "sqlstate", None)
    never_there = isinstance(error.orig, psycopg.OperationalError) and state is None
    return error.connection_invalidated or never_there or state in _AGAIN


def shown(url: URL) -> str:
    """A database's URL as messages may show it: who and where, neither password nor options."""
    plain = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    return plain.render_as_string()
