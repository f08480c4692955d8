"""One base for every background duty: start, stop, wake, and ``run_once`` that tests call by hand."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

import structlog

from jobdeck_backend.errors import JobdeckError

log = structlog.get_logger(__name__)


class Loop(ABC):
    """A duty done again and again on the event loop, every ``interval_s`` or sooner when woken."""

    def __init__(self, interval_s: float, pause_s: float = 0.0) -> None:
        """``pause_s``: the least rest after a pass, so that wake-ups are served together; with one, a pass that
        took longer is followed by a rest as long, however often the duty is woken.
        """
        self.interval_s = interval_s
        self.pause_s = pause_s
        self.is_told: Callable[[Exception], bool] = lambda _error: False
        """Whether somebody else puts a failure on record: a database that is away fails all duties at once."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def run_once(self) -> None:
        """One pass. An exception is logged, unless it ``is_told``, and the next pass comes at its time."""

    def start(self) -> None:
        """Begin; a second call does nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=type(self).__name__)

    async def stop(self) -> None:
        """End and wait for it; safe when never started."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def wake(self) -> None:
        """Do the next pass now. Only from the event loop's thread."""
        self._wake.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        failure = ""
        while True:
            self._wake.clear()
            began = loop.time()
            try:
                await self.run_once()
                failure = ""
            except Exception as error:
                # Four times a second for as long as it lasts, say: once is enough to be read.
                if not self.is_told(error) and failure != (failure := repr(error)):
                    self._log_failure(error)
            if self.pause_s:
                await asyncio.sleep(max(self.pause_s, loop.time() - began))
            with suppress(TimeoutError):
                async with asyncio.timeout(self.interval_s):
                    await self._wake.wait()

    def _log_failure(self, error: Exception) -> None:
        duty = type(self).__name__
        if isinstance(error, JobdeckError):
            log.warning("a background duty waits", duty=duty, reason=error.message)
        else:
            log.error("a background duty failed; it goes on", duty=duty, exc_info=error)
