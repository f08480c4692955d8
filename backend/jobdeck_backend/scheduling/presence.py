"""This backend's presence beside others on its database: what it holds is good while it is here, and no longer."""

import asyncio
from contextlib import suppress

import structlog

from jobdeck_backend.clock import now
from jobdeck_backend.commands import epochs
from jobdeck_backend.errors import Unavailable
from jobdeck_backend.instance import owner_is_gone, this_process
from jobdeck_backend.jobs.records import Attempt, Epoch
from jobdeck_backend.loops import Loop
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.store import epochs as epoch_rows
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.timekeeping import KEEP_S, Follower
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

LOOK_S = 1.0


class Presence(Loop):
    """One pass: say that this backend lives, and end what others held that do not."""

    def __init__(self, backend: str, database: Database, writer: Writer, cluster: Cluster) -> None:
        """``backend`` names this instance: it must be the only process that uses the name."""
        super().__init__(LOOK_S)
        self._backend = backend
        self._database = database
        self._writer = writer
        self._cluster = cluster
        self._renewed_at = 0.0
        self._keeper = Follower()
        self._rivals = False

    async def enter(self) -> None:
        """At start: whatever ran under this name is gone."""
        await self._writer.submit(epochs.enter, self._backend, now())

    async def leave(self) -> None:
        """At the end: so too. What cannot be written now the next start finds out."""
        with suppress(Unavailable):
            await self.enter()

    async def next_epoch(self) -> int:
        """A new epoch number, on record."""
        return await self._writer.submit(
            epochs.begin, self._backend, this_process(), now(), embedded=self._cluster.embedded
        )

    async def attach(self, epoch: int) -> None:
        """The epoch's scheduler is up; what was given to ended ones goes back to the backlog."""
        snapshot = self._cluster.snapshot
        assert snapshot is not None
        await self._writer.submit(epochs.attach, epoch, snapshot.scheduler_id)

    async def lose(self, epoch: int, reason: str) -> None:
        """The epoch's scheduler is lost."""
        await self._writer.submit(epochs.end, epoch, reason, now())

    def has_rivals(self) -> bool:
        """Whether other backends on this database have schedulers of their own, by the last look."""
        return self._rivals

    async def run_once(self) -> None:
        """See who else is here. Renew when that is due, or as soon as one of them is seen to have ended."""
        found, somebody_ended = await asyncio.to_thread(self._look)
        self._rivals = any(map(self._is_rival, found))
        if somebody_ended or now() - self._renewed_at >= KEEP_S:
            self._renewed_at = now()
            await self._writer.submit(
                epochs.renew, self._cluster.epoch, now(), keeper=self._keeper, is_gone=owner_is_gone
            )

    def worker_gone(self, attempt: Attempt) -> str | None:
        """What took an attempt's worker, or None while it may live. Reads the database: call it from a thread."""
        if attempt.epoch == self._cluster.epoch and self._cluster.state in {"up", "suspect"}:
            return self._cluster.worker_gone(attempt)
        with self._database.read() as tx:
            epoch = epoch_rows.load(tx, attempt.epoch)
        if epoch is None or (epoch.backend == self._backend and epoch.embedded):
            return "scheduler lost"  # on record already or not
        snapshot = self._cluster.snapshot
        if snapshot is not None and snapshot.scheduler_id == epoch.scheduler_id:
            return self._cluster.worker_gone(attempt)
        return "scheduler lost" if epoch.workers_gone else None

    def _look(self) -> tuple[list[Epoch], bool]:
        """The epochs that are not over, and whether the process of any of them is."""
        with self._database.read() as tx:
            found = epoch_rows.load_open(tx)
        return found, any(owner_is_gone(one.owner) for one in found)

    def _is_rival(self, epoch: Epoch) -> bool:
        snapshot = self._cluster.snapshot
        ours = None if snapshot is None else snapshot.scheduler_id
        return epoch.backend != self._backend and epoch.scheduler_id not in {None, ours}
