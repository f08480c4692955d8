"""What the database takes of the disk, and giving back what it no longer needs. SQLite's; others see to it themselves."""

import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

PAGES_AT_A_TIME = 500


@dataclass(frozen=True, slots=True)
class Space:
    """In bytes: the database's file, its log, what of the file is free for new rows, and the disk's room."""

    database_bytes: int
    log_bytes: int
    free_bytes: int
    disk_free_bytes: int


def measure(tx: Connection, path: Path) -> Space:
    """The space taken now."""
    driver = tx.connection.driver_connection
    free_pages = page_bytes = 0
    if isinstance(driver, sqlite3.Connection):
        free_pages = int(driver.execute("PRAGMA freelist_count").fetchone()[0])
        page_bytes = int(driver.execute("PRAGMA page_size").fetchone()[0])
    log = path.with_name(f"{path.name}-wal")
    return Space(
        database_bytes=path.stat().st_size if path.exists() else 0,
        log_bytes=log.stat().st_size if log.exists() else 0,
        free_bytes=free_pages * page_bytes,
        disk_free_bytes=shutil.disk_usage(path.parent).free,
    )


def give_back(tx: Connection) -> int:
    """Cut some free pages off the file, inside a transaction; answers how many bytes, 0 when there is nothing left.

    The file shrinks at SQLite's next checkpoint. One made before jobdeck kept its files so gives nothing back: its
    free pages are used for new rows.
    """
    driver = tx.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        return 0
    before = int(driver.execute("PRAGMA page_count").fetchone()[0])
    driver.execute(f"PRAGMA incremental_vacuum({PAGES_AT_A_TIME})").fetchall()
    after = int(driver.execute("PRAGMA page_count").fetchone()[0])
    return (before - after) * int(driver.execute("PRAGMA page_size").fetchone()[0])
