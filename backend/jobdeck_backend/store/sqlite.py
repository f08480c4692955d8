"""SQLite's answers: one file, one write lock, taken at the start of each writing transaction."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

# Upper bound of one wait for the write lock. Longer than any transaction of ours by far.
BUSY_TIMEOUT_S = 30.0

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
            connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
            pool_size=8,
            max_overflow=32,
            hide_parameters=True,  # an error's text goes to logs and callers; what jobs were given does not (R38)
        )
        begin = "BEGIN IMMEDIATE" if write else "BEGIN"

        @event.listens_for(engine, "connect")
        def _configure(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None  # SQLAlchemy's begin event speaks, not the driver
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute("PRAGMA foreign_keys=ON")

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    def must_be_in_place(self) -> None:
        """What is written to a file that was removed would be gone with the last process that has it open."""
        try:
            found = self.path.stat()
            file = found.st_dev, found.st_ino
        except FileNotFoundError:
            file = None
        if self._file is None:
            self._file = file
        elif self._file != file:
            reason = f"{self.path} was removed or replaced while it was in use"
            raise OperationalError("BEGIN", None, sqlite3.OperationalError(reason))


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
