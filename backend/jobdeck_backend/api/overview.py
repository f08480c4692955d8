"""The snapshot of the whole: the header of the deck, once a second in the feed."""

from dataclasses import dataclass
from typing import Any

from jobdeck_backend.api import shapes
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.clock import now
from jobdeck_backend.recovery.reaper import ROLE
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import events, leases
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tailer import Tailer


@dataclass(frozen=True)
class Overview:
    """Describes the whole as it is now."""

    settings: Settings
    database: Database
    board: Board
    cluster: Cluster
    tailer: Tailer

    def describe(self, feeds: int, feeds_dropped: int, *, max_age_s: float) -> dict[str, Any]:
        """``schemas.Overview``, its counts at most so old. Reads the database: call it from a thread."""
        picture = self.board.picture(max_age_s)
        with self.database.read() as tx:
            lease = leases.load(tx, ROLE)
            last_position = events.last_position(tx)
        at = now()
        return {
            "at": zulu_iso(at),
            "scheduler": shapes.scheduler(self.cluster, at),
            "workers": self.cluster.worker_count(),
            "slots": {"total": picture.slots_total, "taken": picture.slots_taken},
            "counts": picture.counts(),
            "delivered": picture.delivered(),
            "service_times": {name: shapes.service_time(time) for name, time in picture.times.items()},
            "recovery": shapes.recovery(lease, self.settings.recovery, at),
            "streams": {
                "subscribers": self.tailer.subscribers + feeds,
                "mode": self.tailer.mode["mode"],
                "lag": max(0, last_position - self.tailer.position),
                "dropped": self.tailer.dropped + feeds_dropped,
            },
            "drain_seconds": picture.forecast.drain_seconds,
            "paused": sorted(picture.paused),
            "drills_allowed": self.settings.drills_allowed,
            "read_only": False,
            "storage": shapes.storage(self.database.condition.trouble),
        }
