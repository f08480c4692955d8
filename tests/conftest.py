"""Real backends for tests that look at jobdeck from outside."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from postgres_server import PostgresServer
from running_backend import RunningBackend
from starting_backends import StartBackend, one_backend, starting

# How fast a machine is says nothing about a promise: real processes run beside these tests.
settings.register_profile(
    "jobdeck", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("jobdeck")

GC_THRESHOLD = 50_000


def pytest_collection_finish() -> None:
    """What was collected stays: the garbage collector need not walk it again in each test, nor look so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database without a row: copying it is much faster than migrating anew."""
    path = tmp_path_factory.mktemp("empty") / "jobdeck.db"
    database = Database(path, synchronous="NORMAL")
    migrate(database)
    database.close()
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the session; its ``template`` database is migrated and empty."""
    server = PostgresServer()
    server.execute("CREATE DATABASE template")
    database = Database(server.url("template"), synchronous="NORMAL")
    migrate(database)
    database.close()
    yield server
    server.remove()


@pytest.fixture
def new_postgres_database(postgres: PostgresServer) -> Callable[[], str]:
    """Makes migrated, empty PostgreSQL databases; answers their URLs."""
    return lambda: postgres.create("template")


@pytest.fixture
def start_backend(tmp_path: Path, empty_database: Path) -> Iterator[StartBackend]:
    """Starts backends: ``start_backend(*arguments, state_dir=…, JOBDECK_…="…")``; each is ended and checked."""
    yield from starting(tmp_path, empty_database)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    """One backend with two workers, with Dask up, shared by a module's tests."""
    with one_backend(tmp_path_factory.mktemp("backend")) as running:
        yield running
