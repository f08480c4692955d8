"""Bringing a database to this version's schema, at start, under the database's own lock."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DatabaseError

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.store import integrity
from jobdeck_backend.store.engine import Database

HEAD = "0008"
"""The newest revision in ``migrations/versions``; a test holds the two together."""

EXIT_DATABASE = 13
CHECK_S = 2.0
"""How long a start may look for damage. Some hundred megabytes are looked through in that time."""


def migrate(database: Database) -> None:
    """Create or upgrade the schema. Raises ``StartRefused`` for a damaged or a newer database, untouched."""
    with usable(database):
        with database.read() as tx:
            if problems := integrity.damage(tx, CHECK_S):
                raise StartRefused(
                    f"the database {database.path} is damaged ({problems[0]}); nothing was changed: "
                    "restore a backup, or move the file away to start afresh",
                    EXIT_DATABASE,
                )
            current = _revision(tx)
        if current != HEAD:
            if current is not None and current > HEAD:
                raise StartRefused(
                    f"the database {database.path} was written by a newer jobdeck (schema {current}, "
                    f"this one knows {HEAD}); nothing was changed",
                    EXIT_DATABASE,
                )
            _upgrade(database)


@contextmanager
def usable(database: Database) -> Iterator[None]:
    """Raises ``StartRefused``, in words, where the block finds that the database cannot be used."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        cause = getattr(error, "orig", error)
        raise StartRefused(
            f"the database {database.path} cannot be used ({cause}); nothing was changed: "
            "restore a copy, or move the file away to start afresh",
            EXIT_DATABASE,
        ) from None


def _revision(tx: Connection) -> str | None:
    if not inspect(tx).has_table("alembic_version"):
        return None
    return tx.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade(database: Database) -> None:
    # Imported only when there is something to do: half a second that most starts need not spend.
    from alembic import command
    from alembic.config import Config

    from jobdeck_backend.store.checkpoints import create_checkpoint_tables

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with database.write() as tx:
        config.attributes["connection"] = tx
        command.upgrade(config, "head")
    create_checkpoint_tables(str(database.path))
