"""The function that Dask runs. Small, because the scheduler imports it too."""

from collections.abc import Callable, Collection
from typing import Any


def run_job(
    job_id: str, fence: int, epoch: int, version: str, workflows: Collection[str], *_predecessors: Any
) -> None:
    """Execute one delivered job, where this version and these users' ``workflows`` are.

    Its result travels through SQL; nothing is returned through Dask.
    """
    from distributed import get_worker

    from jobdeck_backend.scheduling.fitness import must_match
    from jobdeck_backend.scheduling.worker import worker_process

    must_match(version, workflows)
    worker_process().run(job_id, fence, epoch, worker=str(get_worker().name))


def portable_run_job() -> Callable[..., None]:
    """``run_job`` for workers of whom it is not known yet whether they have the package.

    Made here, it is sent as a whole and not by name: a worker that cannot read a message closes its connection and
    ends; this one it reads, and refuses the job.
    """

    def run(*arguments: Any) -> None:
        from jobdeck_backend.scheduling.task import run_job

        run_job(*arguments)

    return run
