"""How deep the queues were and how much happened, over the last minutes, as a line of bars each."""

from collections import deque
from collections.abc import Iterable, Mapping

from jobdeck_tui.client.models import FINISHED, DaskPicture, Overview
from jobdeck_tui.text.format import fit, number

BUCKET_SECONDS = 5.0
BUCKETS_MAX = 160
MINUTE = round(60 / BUCKET_SECONDS)
NOT_STARTED = ("backlog", "waiting", "queued")
BARS = "▁▂▃▄▅▆▇█"
LABEL_CELLS = 18
OF_JOBS = ("not started", "ended/min")
OF_CLUSTER = ("queued", "processing", "events/min")


class Trends:
    """Samples in buckets of ``BUCKET_SECONDS``; ``now`` is Unix seconds."""

    def __init__(self) -> None:
        self._buckets: dict[str, deque[int]] = {}
        self._totals: dict[str, int] = {}
        self._bucket: int | None = None

    def take(self, overview: Overview, events_seen: int, now: float) -> None:
        """Takes a snapshot in, and how many events have been seen in all."""
        counts = overview.counts
        depths = {
            "not started": sum(counts.get(state, 0) for state in NOT_STARTED),
            "queued": counts.get("queued", 0),
            "processing": counts.get("assigned", 0) + counts.get("running", 0),
        }
        ended = sum(counts.get(state, 0) for state in FINISHED)
        self._take(depths, {"ended/min": ended, "events/min": events_seen}, now)

    def take_picture(self, picture: DaskPicture, now: float) -> None:
        """Takes in what Dask alone says, where there is nothing else."""
        self._take({name: picture.tasks.get(name, 0) for name in ("queued", "processing")}, {}, now)

    def _take(self, depths: Mapping[str, int], totals: Mapping[str, int], now: float) -> None:
        """A bucket keeps the deepest of ``depths`` and adds up what ``totals`` rose by; pruning lowers them."""
        rises = {name: max(0, total - self._totals.get(name, total)) for name, total in totals.items()}
        self._totals = dict(totals)
        bucket = int(now // BUCKET_SECONDS)
        # Of a time nobody saw nothing is drawn; what rose in it counts where it was noticed.
        fresh = bucket - self._bucket if self._bucket is not None else 1
        self._bucket = bucket
        for name, value in (*depths.items(), *rises.items()):
            kept = self._buckets.setdefault(name, deque(maxlen=BUCKETS_MAX))
            if fresh != 0 or not kept:
                kept.extend([0] * min(max(fresh - 1, 0), BUCKETS_MAX) + [value])
            else:
                kept[-1] = kept[-1] + value if name in rises else max(kept[-1], value)

    def lines(self, width: int, names: Iterable[str] = OF_JOBS) -> list[str]:
        """Those named as a line of ``width`` cells each, the newest to the right; none before a sample."""
        room = max(width - LABEL_CELLS - 2, 1)
        rows = [(name, list(kept)) for name in names if (kept := self._buckets.get(name)) is not None]
        return [
            f" {fit(name, LABEL_CELLS - 6)}{number(self._newest(name, values)):>5} {bars(values[-room:])}"
            for name, values in rows
        ]

    def _newest(self, name: str, values: list[int]) -> int:
        return sum(values[-MINUTE:]) if name in self._totals else values[-1]


def bars(values: list[int]) -> str:
    """One cell a value, the highest of them full; zero is the lowest bar, anything else higher than that."""
    top = max(values, default=0)
    last = len(BARS) - 1
    return "".join(BARS[max(1, round(value / top * last)) if value else 0] for value in values)
