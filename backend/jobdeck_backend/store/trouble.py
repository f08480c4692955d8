"""What is wrong with the database, told from the error it raised: in words, and as the class of the refusal.

Codes are SQLite's and PostgreSQL's; whatever neither names is the database being away.
"""

import os
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.exc import DatabaseError, DBAPIError, InternalError, OperationalError

from jobdeck_backend.clock import now
from jobdeck_backend.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    DatabaseReadOnly,
    StorageFull,
    Unavailable,
)

log = structlog.get_logger(__name__)

ROOM_BYTES_MIN = 1 << 20
"""With less room than this the disk counts as full, though small writes may fit into the files as they are."""
_PRIMARY = 0xFF
_FULL_STATE, _READ_ONLY_STATES = "53100", {"25006"}
_DAMAGED_STATES = {"XX001", "XX002"}


def is_trouble(error: BaseException) -> bool:
    """Whether an error is the database's own, not one of what was asked of it."""
    if isinstance(error, DBAPIError):
        return isinstance(error, (OperationalError, InternalError)) or type(error) is DatabaseError
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def may_pass(error: BaseException) -> bool:
    """Whether the same write may succeed later: room is made, a lock let go of, a disk mounted again."""
    return is_trouble(error) and not _is_damage(_origin(error))


def cause_of(error: BaseException) -> str:
    """What a database's error says, in one line without the statement."""
    return " ".join(str(_origin(error)).split())


def hide_values(error: Any) -> None:
    """Keep of a driver's error its first sentence: in the rest PostgreSQL repeats the statement and the row."""
    if sentence := getattr(getattr(error, "diag", None), "message_primary", None):
        error.args = (sentence,)


def trouble_of(error: BaseException, name: str, path: Path | None) -> Unavailable:
    """The refusal for an error of the database called ``name``, in the file ``path`` where it is one."""
    cause = _origin(error)
    said = cause_of(error)
    code, state = getattr(cause, "sqlite_errorcode", 0) & _PRIMARY, getattr(cause, "sqlstate", None)
    if _is_damage(cause):
        return DatabaseDamaged(
            f"the database {name} is damaged ({said}); nothing is stored in it: stop the server, "
            "move the file away and restore a backup"
        )
    if code == sqlite3.SQLITE_FULL or state == _FULL_STATE or not _has_room(path):
        disk = name if path is None else path.parent
        return StorageFull(
            f"there is no room left on the disk of {disk} ({said}); nothing is stored until there is some, "
            "then it goes on by itself"
        )
    if code == sqlite3.SQLITE_READONLY or state in _READ_ONLY_STATES or not _is_writable(path):
        return DatabaseReadOnly(
            f"the database {name} is read-only ({said}); nothing is stored until it can be written, "
            "then it goes on by itself"
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return DatabaseLocked(
            f"another process keeps the database {name} locked; nothing is stored until it lets go of it"
        )
    return Unavailable(f"the database cannot be used ({said}); nothing was stored")


def _origin(error: BaseException) -> Any:
    return getattr(error, "orig", None) or error


def _is_damage(cause: Any) -> bool:
    code = getattr(cause, "sqlite_errorcode", 0) & _PRIMARY
    return (
        code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        or getattr(cause, "sqlstate", None) in _DAMAGED_STATES
        or "no such table" in str(cause)  # what was in the file is not ours, or not there
    )


def _has_room(path: Path | None) -> bool:
    if path is None:
        return True
    try:
        return shutil.disk_usage(path.parent).free >= ROOM_BYTES_MIN
    except OSError:
        return True  # no evidence


def _is_writable(path: Path | None) -> bool:
    if path is None:
        return True
    # Asked of the kernel without opening: closing a file of SQLite's would let go of this process's locks on it.
    files = (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
    return all(os.access(file, os.W_OK) for file in files if file.exists())


class Condition:
    """Whether the database can be used, as the last ones to use it found. Safe from any thread."""

    def __init__(self, name: str, path: Path | None) -> None:
        """``name`` is what messages call the database; ``path`` is None where it is no file of this machine."""
        self._name, self._path = name, path
        self._lock = threading.Lock()
        self._trouble: Unavailable | None = None
        self.usable_since: float | None = None
        """When the last trouble ended (Unix seconds); None when there was none yet."""

    @property
    def trouble(self) -> Unavailable | None:
        """What is wrong now; None when it can be read and written."""
        return self._trouble

    def failed(self, error: BaseException) -> Unavailable:
        """An error of the database was seen; answers the refusal it becomes.

        Damage stays until a restart looks at the whole file: that other pages can be read is no proof.
        """
        found = trouble_of(error, self._name, self._path)
        with self._lock:
            known = self._trouble
            if not isinstance(known, DatabaseDamaged):
                self._trouble = found
        if known is None or known.code != found.code:
            log.error("the database cannot be used", reason=found.message)
        return found

    def worked(self) -> None:
        """A transaction was written."""
        known = self._trouble
        if known is None or isinstance(known, DatabaseDamaged):
            return
        # A small write, or one that changes nothing, may go through all the same.
        if isinstance(known, StorageFull) and not _has_room(self._path):
            return
        if isinstance(known, DatabaseReadOnly) and not _is_writable(self._path):
            return
        with self._lock:
            self._trouble = None
            self.usable_since = now()
        log.warning("the database can be used again")

    def refuse_if_damaged(self) -> None:
        """A promise written into a damaged file is none. Raises ``DatabaseDamaged``."""
        if isinstance(known := self._trouble, DatabaseDamaged):
            raise DatabaseDamaged(known.message)  # each refusal has a traceback of its own
