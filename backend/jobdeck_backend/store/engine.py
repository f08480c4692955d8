"""The dialect seam: one database as one process uses it, whichever it is.

``sqlite.py`` and ``postgres.py`` answer the same few questions: how it is opened, how a write begins, whether it
is still in its place, what time it is there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFreeError

from jobdeck_backend.errors import Unavailable
from jobdeck_backend.store.sqlite import Sqlite, Synchronous
from jobdeck_backend.store.trouble import Condition

POSTGRES = "postgresql"


class Dialect(Protocol):
    """What the two databases answer differently."""

    @property
    def name(self) -> str:
        """What messages call the database: a path, or a URL without its password."""

    @property
    def path(self) -> Path | None:
        """The file, where it is one."""

    @property
    def clock(self) -> str:
        """The statement that answers the time, in Unix seconds."""

    def open_engine(self, *, synchronous: Synchronous, write: bool) -> Engine:
        """An engine of which ``write`` transactions exclude others from what they change."""

    def must_be_in_place(self) -> None:
        """Raises ``OperationalError`` where writing would be for nothing."""


class Database:
    """One database as one process uses it. ``synchronous`` is FULL in the server, NORMAL in workers."""

    def __init__(self, place: Path | str, *, synchronous: Synchronous) -> None:
        """``place`` is a SQLite file or a PostgreSQL URL. Raises ``StartRefused`` for a URL that is none."""
        self.dialect = _dialect(place)
        self.name = self.dialect.name
        self.path = self.dialect.path
        self.condition = Condition(self.name, self.path)
        """Whether it can be used, as those who use it find."""
        self._write_engine = self.dialect.open_engine(synchronous=synchronous, write=True)
        self._read_engine = self.dialect.open_engine(synchronous=synchronous, write=False)
        self._apart_engine = self.dialect.open_engine(synchronous=synchronous, write=False)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that nobody's write comes between; commits unless the block raises.

        SQLite: it holds the one write lock from its start. PostgreSQL: it holds each job it loads (``locks``).
        """
        with self._connected(self._write_engine) as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot."""
        with self._connected(self._read_engine) as connection:
            yield connection

    @contextmanager
    def read_apart(self) -> Iterator[Connection]:
        """The same over a connection that no ``read`` waits for, nor it for theirs."""
        with self._connected(self._apart_engine) as connection:
            yield connection

    @contextmanager
    def _connected(self, engine: Engine) -> Iterator[Connection]:
        self.dialect.must_be_in_place()
        try:
            connection = engine.connect()
        except NoConnectionFreeError:
            text = f"the database {self.name} does not answer; all connections to it are waited for"
            raise Unavailable(text) from None
        with connection:
            yield connection

    def open_writer(self) -> Connection:
        """A connection of the write engine for the caller to keep; ``begin()`` begins a write."""
        self.dialect.must_be_in_place()
        return self._write_engine.connect()

    def open_reader(self) -> Connection:
        """A connection of the read engine for the caller to keep."""
        self.dialect.must_be_in_place()
        return self._read_engine.connect()

    def clock(self) -> float:
        """What time it is by the database's own clock, in Unix seconds: one for all who share it (R7)."""
        with self.read() as tx:
            return float(tx.exec_driver_sql(self.dialect.clock).scalar_one())

    def close(self) -> None:
        """Close every pooled connection."""
        self._write_engine.dispose()
        self._read_engine.dispose()
        self._apart_engine.dispose()


def _dialect(place: Path | str) -> Dialect:
    if isinstance(place, Path):
        return Sqlite(place)
    # Who stays with SQLite spends no time on the driver.
    from jobdeck_backend.store.postgres import Postgres

    return Postgres(place)


def is_postgres(connection: Connection) -> bool:
    """Whether the connection leads to PostgreSQL; for the few statements that must differ."""
    return connection.dialect.name == POSTGRES


def locks(tx: Connection) -> bool:
    """Whether rows loaded here to be changed must be locked one by one: in PostgreSQL's writing transactions."""
    return bool(tx.get_execution_options().get("locks", False))


def quick_statement(connection: Connection) -> Callable[[str], Any]:
    """Run constant statements such as savepoints on a connection as it is, without SQLAlchemy's cost for each.

    They raise ``OperationalError`` like others.
    """
    driver: Any = connection.connection.driver_connection

    def run(statement: str) -> Any:
        try:
            return driver.execute(statement)
        except Exception as error:
            raise OperationalError(statement, None, error) from error

    return run


@contextmanager
def synced(connection: Connection) -> Iterator[Connection]:
    """A transaction on a NORMAL connection that is synced to disk as a FULL one is."""
    if is_postgres(connection):
        with connection.begin():
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            yield connection
        return
    # On the driver's own connection: SQLAlchemy would begin a transaction first, and in one it cannot be changed.
    run = quick_statement(connection)
    run("PRAGMA synchronous=FULL")
    try:
        with connection.begin():
            yield connection
    finally:
        run("PRAGMA synchronous=NORMAL")
