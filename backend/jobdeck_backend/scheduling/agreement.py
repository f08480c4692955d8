"""Watches that Dask's book and the records agree, and mends the difference that would leave a job waiting."""

import asyncio

import structlog

from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery
from jobdeck_backend.jobs.differences import Books, Difference, Kind, carry_on, compare
from jobdeck_backend.loops import Loop
from jobdeck_backend.scheduling.dispatcher import Dispatcher
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.store import dispatch, epochs, jobs
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

INTERVAL_S = 0.5
HEAL_AFTER_S = 4.0
"""How long a difference stays in view before it is mended: decks take two seconds to be sure of it."""
SHOWN_AFTER_S = 1.0
"""A shorter difference is only the time between two looks."""

_WORK_LEFT = frozenset({"waiting", "queued", "no-worker", "processing"})


class Agreement(Loop):
    """One pass: compare both books; take delivered jobs back that Dask has not known for a while."""

    def __init__(self, database: Database, writer: Writer, cluster: Cluster, dispatcher: Dispatcher) -> None:
        super().__init__(INTERVAL_S)
        self._database = database
        self._writer = writer
        self._cluster = cluster
        self._dispatcher = dispatcher
        self._looked_at: Snapshot | None = None
        self.differences: list[Difference] = []

    def lasting(self) -> list[Difference]:
        """The differences that are not merely between two looks."""
        return [one for one in self.differences if now() - one.since >= SHOWN_AFTER_S]

    async def run_once(self) -> None:
        """Look once at each new picture of Dask; without a picture nothing is known to differ."""
        snapshot = self._cluster.snapshot
        if snapshot is None or self._cluster.state != "up":
            self.differences = []
            return
        if snapshot is self._looked_at:
            return
        self._looked_at = snapshot
        books = await asyncio.to_thread(self._read, snapshot)
        self.differences = carry_on(self.differences, compare(books), now())
        lost = [
            one.job_id
            for one in self.differences
            if one.kind is Kind.DELIVERED_UNKNOWN and now() - one.since >= HEAL_AFTER_S
        ]
        if lost:
            log.warning("Dask does not know jobs it was given; they are given again", job_ids=lost)
            await self._writer.submit(delivery.take_back, lost)
            self._dispatcher.give_again(lost)

    def _read(self, snapshot: Snapshot) -> Books:
        """What was written or handed over between the two looks differs too, but never for long.

        Of all backends that use this scheduler, and of no other.
        """
        with self._database.read() as tx:
            sharing = epochs.sharing(tx, snapshot.scheduler_id)
            delivered = dispatch.delivered(tx, sharing)
            executing = {one.job_id for one in jobs.live_attempts(tx) if one.epoch in sharing}
        at_work = {job_id for job_id, state in snapshot.jobs.items() if state in _WORK_LEFT}
        return Books(delivered, executing, at_work, snapshot.jobs.keys())
