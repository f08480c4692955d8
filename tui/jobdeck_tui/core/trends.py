"""How deep the queues were and how many jobs ended, over the last minutes, as a line of bars each."""

from collections import deque

from jobdeck_tui.client.models import FINISHED, Overview
from jobdeck_tui.text.format import fit, number

BUCKET_SECONDS = 5.0
BUCKETS_MAX = 160
NOT_STARTED = ("backlog", "waiting", "queued")
BARS = "▁▂▃▄▅▆▇█"
LABEL_CELLS = 18


class Trends:
    """Samples of the overview in buckets of ``BUCKET_SECONDS``; ``now`` is Unix seconds."""

    def __init__(self) -> None:
        self._depths: deque[int] = deque(maxlen=BUCKETS_MAX)
        self._ended: deque[int] = deque(maxlen=BUCKETS_MAX)
        self._bucket: int | None = None
        self._total: int | None = None

    def take(self, overview: Overview, now: float) -> None:
        """Takes a snapshot in: a bucket keeps its deepest, and adds up what ended."""
        depth = sum(overview.counts.get(state, 0) for state in NOT_STARTED)
        total = sum(overview.counts.get(state, 0) for state in FINISHED)
        ended = max(0, total - self._total) if self._total is not None else 0  # pruning takes some away
        self._total = total
        bucket = int(now // BUCKET_SECONDS)
        missed = bucket - self._bucket if self._bucket is not None else 1
        if missed == 0:
            self._depths[-1] = max(self._depths[-1], depth)
            self._ended[-1] += ended
            return
        self._bucket = bucket
        # Of a time nobody saw nothing is drawn; what ended in it counts where it was noticed.
        blanks = min(max(missed - 1, 0), BUCKETS_MAX)
        self._depths.extend([0] * blanks + [depth])
        self._ended.extend([0] * blanks + [ended])

    def lines(self, width: int) -> list[str]:
        """Depth and endings as two lines of ``width`` cells, the newest to the right; none before a sample."""
        if not self._depths:
            return []
        minute = round(60 / BUCKET_SECONDS)
        per_minute = sum(list(self._ended)[-minute:])
        rows = (("not started", self._depths[-1], self._depths), ("ended, 1 min", per_minute, self._ended))
        room = max(width - LABEL_CELLS - 2, 1)
        return [
            f" {fit(words, LABEL_CELLS - 6)}{number(count):>5} {bars(list(values)[-room:])}"
            for words, count, values in rows
        ]


def bars(values: list[int]) -> str:
    """One cell a value, the highest of them full; zero is the lowest bar, anything else higher than that."""
    top = max(values, default=0)
    last = len(BARS) - 1
    return "".join(BARS[max(1, round(value / top * last)) if value else 0] for value in values)
