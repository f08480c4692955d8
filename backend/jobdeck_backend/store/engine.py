"""The dialect seam: how a database is opened, and how a transaction of each kind begins.

SQLite for now. A second dialect answers the same questions: how to open, how a write begins, how a reader
learns that somebody committed.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError

from jobdeck_backend.store.trouble import Condition

# Upper bound of one wait for SQLite's write lock. Longer than any transaction of ours by far; the server's own is
# shorter than its callers' patience, so that they are told why.
BUSY_TIMEOUT_S = {"FULL": 8.0, "NORMAL": 30.0}

Synchronous = Literal["FULL", "NORMAL"]


def open_engine(path: Path, *, synchronous: Synchronous, write: bool) -> Engine:
    """An engine whose transactions begin IMMEDIATE (``write``) or deferred.

    BEGIN IMMEDIATE takes the write lock at once: a deferred transaction that reads first and writes later is
    refused by SQLite under concurrency, whatever the busy timeout.
    """
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": BUSY_TIMEOUT_S[synchronous], "check_same_thread": False},
        pool_size=8,
        max_overflow=32,
        hide_parameters=True,  # an error's text goes to logs and callers; what jobs were given does not (R38)
    )
    begin = "BEGIN IMMEDIATE" if write else "BEGIN"

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # SQLAlchemy's begin event speaks, not the driver
        try:
            if not path.exists() or path.stat().st_size == 0:
                # Before the first page is written, or not at all: what is pruned can be given back to the disk.
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute("PRAGMA foreign_keys=ON")
        except sqlite3.DatabaseError as error:  # SQLAlchemy translates only what statements raise
            raise DatabaseError("PRAGMA", None, error) from error

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def quick_statement(connection: Connection) -> Callable[[str], sqlite3.Cursor]:
    """Run constant statements such as savepoints on a connection as it is, without SQLAlchemy's cost for each.

    They raise ``OperationalError`` like others.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)

    def run(statement: str) -> sqlite3.Cursor:
        try:
            return driver.execute(statement)
        except sqlite3.Error as error:
            raise OperationalError(statement, None, error) from error

    return run


def commit_counter(connection: Connection) -> Callable[[], int]:
    """A number that changes whenever another connection commits; a look takes microseconds.

    To be asked between transactions.
    """
    run = quick_statement(connection)
    return lambda: int(run("PRAGMA data_version").fetchone()[0])


class Database:
    """One database as one process uses it. ``synchronous`` is FULL in the server, NORMAL in workers."""

    def __init__(self, path: Path, *, synchronous: Synchronous) -> None:
        self.path = path
        self.condition = Condition(str(path), path)
        """Whether it can be used, as those who use it find."""
        self._file: tuple[int, int] | None = None
        self._write_engine = open_engine(path, synchronous=synchronous, write=True)
        self._read_engine = open_engine(path, synchronous=synchronous, write=False)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that holds the write lock from its start; commits unless the block raises."""
        self._must_be_in_place()
        with self._write_engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot."""
        self._must_be_in_place()
        with self._read_engine.connect() as connection:
            yield connection

    def open_writer(self) -> Connection:
        """A connection of the write engine for the caller to keep; ``begin()`` takes the lock."""
        self._must_be_in_place()
        return self._write_engine.connect()

    def open_reader(self) -> Connection:
        """A connection of the read engine for the caller to keep."""
        self._must_be_in_place()
        return self._read_engine.connect()

    def _must_be_in_place(self) -> None:
        """What is written to a file that was removed would be gone with the last process that has it open."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            found = None
        file = None if found is None else (found.st_dev, found.st_ino)
        if self._file is None:
            self._file = file if found is not None and found.st_size else None
        elif self._file != file:
            raise _error(f"{self.path} was removed or replaced while it was in use", sqlite3.SQLITE_CANTOPEN)
        elif found is not None and found.st_size == 0:
            # SQLite would take it for a new one, and throw away the log from which it could be restored.
            raise _error(f"{self.path} was truncated while it was in use", sqlite3.SQLITE_CORRUPT)

    def close(self) -> None:
        """Close every pooled connection."""
        self._write_engine.dispose()
        self._read_engine.dispose()


def _error(reason: str, code: int) -> OperationalError:
    cause = sqlite3.OperationalError(reason)
    cause.sqlite_errorcode = code
    return OperationalError("BEGIN", None, cause)


@contextmanager
def synced(connection: Connection) -> Iterator[Connection]:
    """A transaction on a NORMAL connection that is synced to disk as a FULL one is."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    # On the driver's own connection: SQLAlchemy would begin a transaction first, and in one it cannot be changed.
    driver.execute("PRAGMA synchronous=FULL")
    try:
        with connection.begin():
            yield connection
    finally:
        driver.execute("PRAGMA synchronous=NORMAL")
