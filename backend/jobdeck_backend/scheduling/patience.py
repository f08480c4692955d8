"""Writing in spite of the database: a full disk or a lock is no failure of a job, so its execution waits it out.

The deadline, a cancel and a lost fence end the waiting: what waits is cancelled, or refused once it is written.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from jobdeck_backend.store.trouble import cause_of, may_pass

log = structlog.get_logger(__name__)

T = TypeVar("T")
FIRST_PAUSE_S = 0.1
PAUSE_S_MAX = 2.0


class _Pauses:
    """Whether to try again after an error, and how long from now."""

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self._next_s = FIRST_PAUSE_S

    def after(self, error: Exception) -> float:
        """Raises an error that is not the database's passing trouble."""
        if not may_pass(error):
            raise error
        pause_s, self._next_s = self._next_s, min(2 * self._next_s, PAUSE_S_MAX)
        if pause_s == FIRST_PAUSE_S:
            log.warning(
                "the database takes no write; tried again", job_id=self._job_id, error=cause_of(error)
            )
        return pause_s


async def patiently(write: Callable[[], T], job_id: str) -> T:
    """Call ``write`` until the database takes it. Raises what is not the database's passing trouble."""
    pauses = _Pauses(job_id)
    while True:
        try:
            return write()
        except Exception as error:
            pause_s = pauses.after(error)
        await asyncio.sleep(pause_s)


def patiently_here(write: Callable[[], T], job_id: str, go_on: Callable[[], object]) -> T:
    """As ``patiently`` where nothing can be awaited; ``go_on`` raises when there is no use in waiting any more."""
    pauses = _Pauses(job_id)
    while True:
        try:
            return write()
        except Exception as error:
            pause_s = pauses.after(error)
        time.sleep(pause_s)
        go_on()
