"""Starting backends, and seeing to it that each ends as it should."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from running_backend import RunningBackend

StartBackend = Callable[..., RunningBackend]


def starting(directory: Path, database: Path | None = None) -> Iterator[StartBackend]:
    """What ``start_backend`` gives, in a directory of the caller's; going on ends and checks them all."""
    started: list[RunningBackend] = []
    names = itertools.count(1)

    def start(*arguments: str, state_dir: Path | None = None, **environment: str) -> RunningBackend:
        where = state_dir or directory / f"state-{next(names)}"
        if state_dir is None and database is not None:
            where.mkdir()
            shutil.copy(database, where / "jobdeck.db")
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


@contextmanager
def one_backend(directory: Path, *arguments: str, **more: Any) -> Iterator[RunningBackend]:
    """One backend as ``start_backend`` starts it, with Dask up; at the end it is ended and checked."""
    backends = starting(directory)
    try:
        running = next(backends)(*arguments, **more)
        running.wait_for_dask()
        yield running
    finally:
        next(backends, None)
