"""A copy of the database as it is at one moment, made while everybody goes on. SQLite's own online backup."""

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from jobdeck_backend.errors import StorageFull
from jobdeck_backend.store.trouble import ROOM_BYTES_MIN

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Copied:
    """A finished copy."""

    bytes: int
    sha256: str


def copy_database(path: Path, target: Path) -> None:
    """Copy the database ``path`` to the new file ``target``, which its owner alone can read.

    Raises ``StorageFull`` before anything is written, ``FileExistsError``, or what SQLite says.
    """
    needed = path.stat().st_size + ROOM_BYTES_MIN
    if shutil.disk_usage(target.parent).free < needed:
        raise StorageFull(f"a copy takes {needed} bytes, and {target.parent} has not so much room left")
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)  # in one step: one snapshot, and no writer waits for it
    except sqlite3.Error as error:
        target.unlink()
        raise DatabaseError("backup", None, error) from error


def seal(target: Path) -> Copied:
    """Let a copy need no other file beside it, and see it on the disk."""
    with closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")
    digest = hashlib.sha256()
    with target.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
        os.fsync(file.fileno())
    return Copied(target.stat().st_size, digest.hexdigest())
