"""Real backends for tests that look at jobdeck from outside."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running_backend import RunningBackend

StartBackend = Callable[..., RunningBackend]


@pytest.fixture
def start_backend(tmp_path: Path) -> Iterator[StartBackend]:
    """Starts backends: ``start_backend(*arguments, state_dir=…, JOBDECK_…="…")``; each is ended and checked."""
    yield from _starting(tmp_path)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    """One backend with two workers, with Dask up, shared by a module's tests."""
    starting = _starting(tmp_path_factory.mktemp("backend"))
    running = next(starting)()
    running.wait_for_dask()
    yield running
    next(starting, None)


def _starting(directory: Path) -> Iterator[StartBackend]:
    started: list[RunningBackend] = []
    names = itertools.count(1)

    def start(*arguments: str, state_dir: Path | None = None, **environment: str) -> RunningBackend:
        where = state_dir or directory / f"state-{next(names)}"
        running = RunningBackend(where, *arguments, **environment)
        started.append(running)
        return running

    yield start
    failures = []
    for running in reversed(started):  # a later one may run on the same state directory
        try:
            running.finish()
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise ExceptionGroup("backends did not end as they should", failures)
