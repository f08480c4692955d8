"""One contract for both databases: a fixture that asks for ``place`` runs on each."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jobdeck_backend.store.engine import Database
from sqlalchemy import Connection


@pytest.fixture
def file(tmp_path: Path, empty_database: Path) -> Path:
    """A database of the test's own in SQLite, migrated and empty."""
    return Path(shutil.copy(empty_database, tmp_path / "jobdeck.db"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Path | str:
    """A database of the test's own, migrated and empty: a file, or one on a server."""
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("file")
        return path
    new_database: Callable[[], str] = request.getfixturevalue("new_postgres_database")
    return new_database()


@pytest.fixture
def database(place: Path | str) -> Iterator[Database]:
    """That database, open."""
    database = Database(place, synchronous="NORMAL")
    yield database
    database.close()


@pytest.fixture
def tx(database: Database) -> Iterator[Connection]:
    """A writing transaction on it."""
    with database.write() as connection:
        yield connection
