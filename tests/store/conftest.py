"""One contract for both databases: a fixture that asks for ``place`` runs on each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from sqlalchemy import Connection


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A database of the test's own: a new file, or a migrated one on a server."""
    if request.param == "sqlite":
        return tmp_path / "jobdeck.db"
    new_database: Callable[[], str] = request.getfixturevalue("new_postgres_database")
    return new_database()


@pytest.fixture
def database(place: Path | str) -> Iterator[Database]:
    """That database, migrated and open."""
    database = Database(place, synchronous="NORMAL")
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def tx(database: Database) -> Iterator[Connection]:
    """A writing transaction on it."""
    with database.write() as connection:
        yield connection
