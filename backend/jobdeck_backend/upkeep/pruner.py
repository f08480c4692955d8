"""Removes finished jobs that are older than wanted, in transactions too small to keep anybody waiting."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import structlog

from jobdeck_backend.clock import instant, now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import JobdeckError, NotEligible
from jobdeck_backend.loops import Loop
from jobdeck_backend.plural import plural
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import retention, space
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.retention import Prunable
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

INTERVAL_S = 60.0
BATCH_JOBS_MAX = 50
BATCH_EVENTS_MAX = 2_000
REST_S = 0.01
"""The least rest after a transaction; a longer one gets a rest as long as itself."""
RETENTION = "retention"
"""Who prunes where the settings say how long jobs are kept."""


@dataclass
class Pruning:
    """One pruning, as far as it has come. Times are Unix seconds."""

    before: float
    """Jobs that ended earlier go."""
    started_at: float
    jobs_total: int
    events_total: int
    state: str = "running"
    """``running``, ``done``, ``failed`` or, where only a look was wanted, ``dry run``."""
    removed: Counter[str] = field(default_factory=Counter)
    """Rows removed, by table."""
    freed_bytes: int = 0
    ended_at: float | None = None
    error: str | None = None


class Pruner(Loop):
    """Prunes when asked, one at a time, and by itself where ``retention_s`` is set."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: Writer,
        *,
        on_gone: Callable[[Sequence[str]], object],
    ) -> None:
        """``on_gone`` is told which jobs went, after each transaction."""
        super().__init__(INTERVAL_S)
        self._on_gone = on_gone
        self._settings = settings
        self._database = database
        self._writer = writer
        self._work: asyncio.Task[None] | None = None
        self.last: Pruning | None = None
        """The pruning under way, else the last one since the start."""

    async def run_once(self) -> None:
        """Keep to the settings' retention."""
        if self._settings.retention_s is not None and not self._is_busy():
            await self.begin(self._settings.retention_s, operators.By(RETENTION, now()))
            if self._work is not None:
                await asyncio.shield(self._work)

    async def stop(self) -> None:
        """End after the transaction under way; what is left goes the next time."""
        await super().stop()
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def preview(self, older_than_s: float) -> Pruning:
        """What a pruning would remove now. Changes nothing."""
        return self._pruning(older_than_s, await self._prunable(older_than_s), "dry run")

    async def begin(self, older_than_s: float, by: operators.By) -> Pruning:
        """Begin to remove what ended longer ago; ``last`` tells how far it is.

        Nothing is put on record where there is nothing to remove by the settings. Raises ``NotEligible`` while
        another pruning is under way.
        """
        if self._is_busy():
            refusal = NotEligible("a pruning is under way; nothing more was begun")
            await self._note(by, f"refused: {refusal.code}")
            raise refusal
        found = await self._prunable(older_than_s)
        pruning = self._pruning(older_than_s, found, "running")
        if found or by.actor != RETENTION:
            await self._note(
                by, f"removes {plural(len(found), 'job')} that ended before {instant(pruning.before)}"
            )
        if self._is_busy():  # somebody else was as fast
            raise NotEligible("a pruning is under way; nothing more was begun")
        self.last = pruning
        self._work = asyncio.create_task(self._prune(pruning, found), name="pruning")
        return pruning

    def _is_busy(self) -> bool:
        return self._work is not None and not self._work.done()

    async def _note(self, by: operators.By, result: str) -> None:
        await self._writer.submit(operators.note, "prune", result, by)

    async def _prunable(self, older_than_s: float) -> list[Prunable]:
        def look() -> list[Prunable]:
            with self._database.read() as tx:
                return retention.prunable(tx, now() - older_than_s)

        return await asyncio.to_thread(look)

    def _pruning(self, older_than_s: float, found: Sequence[Prunable], state: str) -> Pruning:
        at = now()
        return Pruning(at - older_than_s, at, len(found), sum(one.events for one in found), state)

    async def _prune(self, pruning: Pruning, found: Sequence[Prunable]) -> None:
        loop = asyncio.get_running_loop()
        try:
            for batch in batches(found):
                began = loop.time()
                gone, removed = await self._writer.submit(retention.remove, batch, pruning.before)
                pruning.removed.update(removed)
                if gone:
                    self._on_gone(gone)
                await asyncio.sleep(max(REST_S, loop.time() - began))
            while freed := await self._writer.submit(space.give_back):
                pruning.freed_bytes += freed
                await asyncio.sleep(REST_S)
            pruning.state = "done"
        except JobdeckError as error:
            pruning.state, pruning.error = "failed", error.message
        except BaseException:
            pruning.state, pruning.error = "failed", "it was interrupted; what is left goes the next time"
            raise
        finally:
            pruning.ended_at = now()
            if pruning.removed:
                log.info("pruned", state=pruning.state, **pruning.removed)


def batches(found: Sequence[Prunable]) -> Iterator[list[str]]:
    """The jobs in groups for one transaction each: few, and with few events unless one job alone has more."""
    batch: list[str] = []
    weight = 0
    for one in found:
        if batch and (len(batch) == BATCH_JOBS_MAX or weight + one.events > BATCH_EVENTS_MAX):
            yield batch
            batch, weight = [], 0
        batch.append(one.job_id)
        weight += one.events
    if batch:
        yield batch
