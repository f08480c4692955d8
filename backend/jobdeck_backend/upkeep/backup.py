"""Backups: a consistent copy of an instance's database, running or at rest, checked before it is trusted."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from jobdeck_backend.errors import DatabaseDamaged
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store.copy import Copied, copy_database, seal
from jobdeck_backend.store.engine import Database

UNFINISHED = "backup-*.tmp"
"""What a server calls a copy that it is sending; one that is left belongs to nobody."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that was checked; ``violations`` are the records' own, which it has faithfully."""

    copied: Copied
    violations: list[fsck.Violation]


def back_up(path: Path, target: Path) -> Backup:
    """Copy the database ``path`` to the new file ``target`` and check the copy.

    Raises ``DatabaseDamaged``, with no copy left, when the copy is not a whole database.
    """
    copy_database(path, target)
    try:
        violations = _check(target)
    except DBAPIError as error:
        violations = [fsck.Violation(fsck.WHOLE, "", str(error.orig))]
    broken = [one.text for one in violations if one.invariant == fsck.WHOLE]
    if broken:
        target.unlink()
        raise DatabaseDamaged(f"the database {path} is damaged ({broken[0]}); no backup was made of it")
    return Backup(seal(target), violations)


def _check(target: Path) -> list[fsck.Violation]:
    database = Database(target, synchronous="NORMAL")
    try:
        with database.read() as tx:
            return fsck.check(tx)
    finally:
        database.close()


def remove_unfinished(state_dir: Path) -> None:
    """Remove the copies that a server was sending when it ended."""
    for left in state_dir.glob(UNFINISHED):
        left.unlink(missing_ok=True)
