"""The function that Dask runs. Small, because the scheduler imports it too."""

from typing import Any


def run_job(job_id: str, fence: int, epoch: int, version: str, *_predecessors: Any) -> None:
    """Execute one delivered job. Its result travels through SQL; nothing is returned through Dask."""
    from distributed import get_worker

    from jobdeck_backend.scheduling.fitness import must_match
    from jobdeck_backend.scheduling.worker import worker_process

    must_match(version)
    worker_process().run(job_id, fence, epoch, worker=str(get_worker().name))
