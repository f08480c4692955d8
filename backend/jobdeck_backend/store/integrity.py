"""Whether the database file itself is whole, by the database's own check."""

import sqlite3
import time

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

PROBLEMS_MAX = 20
_LOOK_EVERY = 100_000
"""Steps of SQLite's virtual machine between two looks at the time: some milliseconds."""


def damage(tx: Connection, within_s: float | None = None) -> list[str]:
    """What is wrong with the file, in the database's words; empty when it is whole.

    With ``within_s`` a check that takes longer than so many seconds is given up and answers nothing. A server that
    keeps its own files (PostgreSQL) is not asked.
    """
    driver = tx.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        return []
    if within_s is not None:
        until = time.monotonic() + within_s
        driver.set_progress_handler(lambda: time.monotonic() > until, _LOOK_EVERY)
    try:
        rows = tx.execute(text(f"PRAGMA quick_check({PROBLEMS_MAX})"))
        return [line for row in rows for line in str(row[0]).splitlines() if line != "ok"]
    except DBAPIError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            return []
        return [str(error.orig)]
    finally:
        driver.set_progress_handler(None, 0)
