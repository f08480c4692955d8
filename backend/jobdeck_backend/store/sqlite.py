"""SQLite's answers: one file, one write lock, taken at the start of each writing transaction."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError

# Upper bound of one wait for the write lock. Longer than any transaction of ours by far; the server's own is
# shorter than its callers' patience, so that they are told why.
BUSY_TIMEOUT_S = {"FULL": 8.0, "NORMAL": 30.0}
LOCK_LOOK_S = 0.0005
LONG_WAIT_S = 0.2
LONG_WAIT_LOOK_S = 0.01

Synchronous = Literal["FULL", "NORMAL"]


class Sqlite:
    """A database in a file."""

    clock = "SELECT (julianday('now') - 2440587.5) * 86400.0"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._file: tuple[int, int] | None = None

    def open_engine(self, *, synchronous: Synchronous, write: bool) -> Engine:
        """An engine whose transactions begin IMMEDIATE (``write``) or deferred.

        BEGIN IMMEDIATE takes the write lock at once: a deferred transaction that reads first and writes later is
        refused by SQLite under concurrency, whatever the busy timeout.
        """
        engine = create_engine(
            f"sqlite:///{self.path}",
            connect_args={"timeout": BUSY_TIMEOUT_S[synchronous], "check_same_thread": False},
            pool_size=8,
            max_overflow=32,
            hide_parameters=True,  # an error's text goes to logs and callers; what jobs were given does not (R38)
        )

        @event.listens_for(engine, "connect")
        def _configure(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None  # SQLAlchemy's begin event speaks, not the driver
            try:
                if not self.path.exists() or self.path.stat().st_size == 0:
                    # Before the first page is written, or never: what is pruned can be given back to the disk.
                    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(f"PRAGMA synchronous={synchronous}")
                connection.execute("PRAGMA foreign_keys=ON")
            except sqlite3.DatabaseError as error:  # SQLAlchemy translates only what statements raise
                raise DatabaseError("PRAGMA", None, error) from error

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            if write:
                _begin_immediate(driver, BUSY_TIMEOUT_S[synchronous])
            else:
                _execute(driver, "BEGIN")

        return engine

    def must_be_in_place(self) -> None:
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


def _begin_immediate(driver: sqlite3.Connection, timeout_s: float) -> None:
    """Take the write lock. It is held for a millisecond or two: SQLite's own waiting, in steps that grow to a
    tenth of a second, would sleep through most of its turns."""
    began = time.monotonic()
    _execute(driver, "PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                return _execute(driver, "BEGIN IMMEDIATE")
            except OperationalError as error:
                code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
                waited_s = time.monotonic() - began
                if code != sqlite3.SQLITE_BUSY or waited_s >= timeout_s:
                    raise
            # As often as a newcomer, or those would always be faster.
            time.sleep(LOCK_LOOK_S if waited_s < LONG_WAIT_S else LONG_WAIT_LOOK_S)
    finally:
        _execute(driver, f"PRAGMA busy_timeout={int(timeout_s * 1000)}")


def _execute(driver: sqlite3.Connection, statement: str) -> None:
    try:
        driver.execute(statement)
    except sqlite3.Error as error:  # SQLAlchemy translates only what it executes itself
        raise OperationalError(statement, None, error) from error


def _error(reason: str, code: int) -> OperationalError:
    cause = sqlite3.OperationalError(reason)
    cause.sqlite_errorcode = code
    return OperationalError("BEGIN", None, cause)


def commit_counter(connection: Connection) -> Callable[[], int]:
    """A number that changes whenever another connection commits; a look takes microseconds.

    To be asked between transactions.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    cursor = driver.cursor()

    def look() -> int:
        try:
            return int(cursor.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error as error:
            raise OperationalError("PRAGMA data_version", None, error) from error

    return look
