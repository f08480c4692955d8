"""Bringing a database to this version's schema, at start, under the database's own lock."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import DatabaseError

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.store import integrity
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tables import metadata
from jobdeck_backend.store.trouble import cause_of

HEAD = "0010"
"""The newest revision in ``migrations/versions``; a test holds the two together."""

EXIT_DATABASE = 13
CHECK_S = 2.0
"""How long a start may look for damage. Some hundred megabytes are looked through in that time."""
MIGRATION_MAX_S = 60.0
"""How long another process may take over its migration before this one gives up waiting."""
LOOK_S = 0.1
_MIGRATIONS = Path(__file__).parent / "migrations"
# Any number that nobody else locks in this database.
_LOCK = 0x6A6F626465636B


def migrate(database: Database) -> None:
    """Create or upgrade the schema. Raises ``StartRefused`` for a damaged, absent or newer database, untouched."""
    with usable(database):
        if database.path is None:
            _refuse_encoding(database)
        else:
            _refuse_damage(database)
        current = _current(database)
        if current == HEAD:
            _look_at_all_tables(database)
            return
        if current is not None and current not in _known():
            raise StartRefused(
                f"the database {database.name} was written by a newer jobdeck (schema {current}, "
                f"this one knows {HEAD}), or by another program; nothing was changed",
                EXIT_DATABASE,
            )
        if database.path is not None:
            _upgrade(database)
            return
        with _alone(database):
            if _current(database) != HEAD:  # another process may just have done it
                _upgrade(database)


def _known() -> set[str]:
    return {path.name.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("*.py")}


def _look_at_all_tables(database: Database) -> None:
    """What lacks a table, a column, or the right to read it is told now, not by the first who needs it."""
    with database.read() as tx:
        for table in metadata.sorted_tables:
            tx.execute(select(table).limit(0))


def _refuse_encoding(database: Database) -> None:
    """Texts in any other could not all be stored: what a job says would decide whether its end can be."""
    with database.read() as tx:
        encoding = tx.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise StartRefused(
            f"the database {database.name} keeps its texts in {encoding}, which cannot hold all of them; nothing "
            "was changed: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0 makes one that can",
            EXIT_DATABASE,
        )


def _refuse_damage(database: Database) -> None:
    with database.read() as tx:
        if problems := integrity.damage(tx, CHECK_S):
            raise StartRefused(
                f"the database {database.name} is damaged ({problems[0]}); nothing was changed: "
                "restore a backup, or move the file away to start afresh",
                EXIT_DATABASE,
            )


@contextmanager
def usable(database: Database) -> Iterator[None]:
    """Raises ``StartRefused``, in words, where the block finds that the database cannot be used."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        advice = (
            "see whether it runs, --db-url is right, and its user may make tables there and write"
            if database.path is None
            else "restore a copy, or move the file away to start afresh"
        )
        raise StartRefused(
            f"the database {database.name} cannot be used ({cause_of(error)}); nothing was changed: {advice}",
            EXIT_DATABASE,
        ) from None


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    """While no other process migrates this PostgreSQL database.

    Asked for again and again, not waited for: LangGraph builds its indexes CONCURRENTLY, which waits in turn for
    every statement under way.
    """
    with database.open_reader() as connection:
        until = time.monotonic() + MIGRATION_MAX_S
        while not _locked(connection, "pg_try_advisory_lock"):
            if time.monotonic() >= until:
                raise StartRefused(
                    f"another process has been migrating {database.name} for {MIGRATION_MAX_S:.0f} s; "
                    "nothing was changed",
                    EXIT_DATABASE,
                )
            time.sleep(LOOK_S)
        try:
            yield
        finally:
            _locked(connection, "pg_advisory_unlock")


def _locked(connection: Connection, function: str) -> bool:
    with connection.begin():
        return bool(connection.execute(text(f"SELECT {function}({_LOCK})")).scalar_one())


def _current(database: Database) -> str | None:
    with database.read() as tx:
        if not inspect(tx).has_table("alembic_version"):
            return None
        return " and ".join(tx.execute(text("SELECT version_num FROM alembic_version")).scalars()) or None


def _upgrade(database: Database) -> None:
    # Imported only when there is something to do: half a second that most starts need not spend.
    from alembic import command
    from alembic.config import Config

    from jobdeck_backend.store.checkpoints import create_checkpoint_tables

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    if database.path is None:
        # Not part of a transaction, so first: done means that all is there.
        create_checkpoint_tables(database)
    with database.write() as tx:
        config.attributes["connection"] = tx
        command.upgrade(config, "head")
    if database.path is not None:
        create_checkpoint_tables(database)
