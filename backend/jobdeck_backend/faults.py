"""Fault points: places around a commit where a test may have the process killed, as a loss of power would.

Inert unless ``JOBDECK_FAULT_DIR`` names a directory: each file ``<point>.<job_id>.<anything>`` in it is one death,
used up by it, so that a job can be made to die once or many times at one place.
"""

import os
import signal
from contextlib import suppress
from enum import StrEnum
from pathlib import Path


class FaultPoint(StrEnum):
    """Where a job's execution can be cut, in the order in which it passes them."""

    ADMITTED = "admitted"
    """The admission is committed, its caller not answered."""
    DELIVERED = "delivered"
    """The job is marked as given to Dask, and is not."""
    HANDED_OVER = "handed_over"
    """Dask has the job."""
    CLAIMED = "claimed"
    """A worker's claim is committed, nothing done."""
    EFFECT_CALLED = "effect_called"
    """The outside world was acted on, the effect's outcome not recorded."""
    GRAPH_FINISHED = "graph_finished"
    """The last checkpoint is saved, success is not."""
    CONCLUDED = "concluded"
    """The job's end is committed, its worker still on it."""


def reached(point: FaultPoint, job_id: str) -> None:
    """Kill this process if a death is armed here for this job."""
    directory = os.environ.get("JOBDECK_FAULT_DIR")
    if directory is None:
        return
    for armed in Path(directory).glob(f"{point}.{job_id}.*"):
        with suppress(FileNotFoundError):
            armed.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
