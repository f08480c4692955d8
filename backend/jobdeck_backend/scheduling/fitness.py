"""Whether an external worker can run jobs: it has the version, the database and the workflows of its server.

Nothing that a worker needs to know travels through Dask: it reads its own environment. What travels is the
question, and an answer in words.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from distributed import Client
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from jobdeck_backend import __version__
from jobdeck_backend.clock import now
from jobdeck_backend.errors import StartRefused, Unavailable
from jobdeck_backend.settings import Settings, what_is_wrong
from jobdeck_backend.store.trouble import cause_of
from jobdeck_backend.workflows import registry

EXAMINE_S = 30.0
DATABASE_VARIABLES = ("JOBDECK_DB_URL", "JOBDECK_STATE_DIR")


@dataclass(frozen=True, slots=True)
class Fitness:
    """What one worker answered: ``problem`` is why it cannot run jobs."""

    problem: str | None
    asked_at: float
    pid: int | None = None


def must_match(version: str, workflows: Collection[str]) -> None:
    """Called by each job's task, should it reach a worker before that was examined. Raises ``Unavailable``."""
    if (problem := _version_problem(version) or _environment_problem() or _lack(workflows)) is not None:
        raise Unavailable(problem)


def examine_here(version: str, database_id: str, workflows: Collection[str]) -> dict[str, Any]:
    """The worker's side; everything a job needs is imported and opened."""
    problem = (
        _version_problem(version)
        or _environment_problem()
        or _database_problem(database_id)
        or _lack(workflows)
    )
    return {"problem": problem, "pid": os.getpid()}


def _version_problem(version: str) -> str | None:
    return None if version == __version__ else f"it has jobdeck {__version__}, and this server is {version}"


def _environment_problem() -> str | None:
    if not any(name in os.environ for name in DATABASE_VARIABLES):
        names = " nor ".join(DATABASE_VARIABLES)
        return f"neither {names} is set in its environment, so it knows no database"
    try:
        place = _settings().database_place
    except ValidationError as error:
        return f"its settings cannot be used ({what_is_wrong(error)})"
    exists = not isinstance(place, Path) or place.exists()  # opening it would make one
    return None if exists else "there is no database where its environment says"


_settings = cache(Settings)


def _database_problem(database_id: str) -> str | None:
    from jobdeck_backend.scheduling.worker import worker_process

    try:
        found = worker_process().database_id()
    except (DBAPIError, StartRefused) as error:
        return f"its database cannot be used ({cause_of(error)})"
    return None if found == database_id else "its database is not this server's"


def _lack(workflows: Collection[str]) -> str | None:
    from jobdeck_backend.scheduling.worker import worker_process

    if not workflows:
        return None
    worker_process()  # knows its own from then on
    missing = ", ".join(name for name in workflows if registry.find(name) is None)
    return f"it lacks workflows of this server ({missing}): see its JOBDECK_WORKFLOWS" if missing else None


async def examine(
    client: Client, address: str, database_id: str, workflows: Collection[str]
) -> Fitness | None:
    """Ask a worker, which must know these ``workflows``; None when it went away or did not answer in time."""
    try:
        async with asyncio.timeout(EXAMINE_S):
            answers = await client.run(
                _portable(), __version__, database_id, workflows, workers=[address], on_error="return"
            )
    except (TimeoutError, OSError):
        return None
    answer = answers.get(address)
    if answer is None or isinstance(answer, OSError):
        return None
    if isinstance(answer, dict):
        return Fitness(answer["problem"], now(), answer["pid"])
    return Fitness(f"it cannot be asked ({type(answer).__name__}: {answer})", now())


def _portable() -> Callable[[str, str, Collection[str]], Awaitable[dict[str, Any]]]:
    """The question, made here so that it is sent as a whole: a worker without the package must understand it."""

    async def ask(version: str, database_id: str, workflows: Collection[str]) -> dict[str, Any]:
        import asyncio
        import os

        try:
            import jobdeck_backend
        except ImportError as error:
            return {"problem": f"the package jobdeck is not installed there ({error})", "pid": os.getpid()}
        found = getattr(jobdeck_backend, "__version__", "of another time")
        if found != version:
            return {"problem": f"it has jobdeck {found}, and this server is {version}", "pid": os.getpid()}
        from jobdeck_backend.scheduling.fitness import examine_here

        # Beside the worker's loop: the first time, LangGraph is imported.
        return await asyncio.to_thread(examine_here, version, database_id, workflows)

    return ask
