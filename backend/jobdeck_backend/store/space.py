"""What the database takes of the disk, and giving back what it no longer needs.

SQLite's: a server that keeps its own files sees to it itself.
"""

import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

PAGES_AT_A_TIME = 200


@dataclass(frozen=True, slots=True)
class Space:
    """In bytes: the database with what its log still holds, what of it is free, that log, the disk's room."""

    database_bytes: int
    log_bytes: int
    free_bytes: int
    disk_free_bytes: int


def measure(tx: Connection, path: Path | None) -> Space | None:
    """The space taken now; None where the database is a server's affair."""
    if path is None:
        return None
    driver = tx.connection.driver_connection
    pages = free_pages = page_bytes = 0
    if isinstance(driver, sqlite3.Connection):
        pages = _pages(driver)
        free_pages = int(driver.execute("PRAGMA freelist_count").fetchone()[0])
        page_bytes = int(driver.execute("PRAGMA page_size").fetchone()[0])
    log = path.with_name(f"{path.name}-wal")
    return Space(
        database_bytes=pages * page_bytes,  # the file itself stays small until the log is written into it
        log_bytes=log.stat().st_size if log.exists() else 0,
        free_bytes=free_pages * page_bytes,
        disk_free_bytes=shutil.disk_usage(path.parent).free,
    )


def give_back(tx: Connection) -> int:
    """Cut some free pages off the file; answers how many bytes, 0 when there is nothing left to cut.

    The file shrinks at SQLite's next checkpoint. One made before jobdeck kept its files so gives nothing back: its
    free pages are used for new rows.
    """
    driver = tx.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        return 0
    before = _pages(driver)
    for _ in range(min(PAGES_AT_A_TIME, int(driver.execute("PRAGMA freelist_count").fetchone()[0]))):
        # This driver steps it once, whatever number it is given.
        driver.execute("PRAGMA incremental_vacuum(1)")
    return (before - _pages(driver)) * int(driver.execute("PRAGMA page_size").fetchone()[0])


def _pages(driver: sqlite3.Connection) -> int:
    return int(driver.execute("PRAGMA page_count").fetchone()[0])
