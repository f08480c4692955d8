"""The server's time of day: deadlines are its instants, and no step of this machine's clock may bend them.

It is counted on the monotonic clock. Each snapshot tells when it was made, so it is always a little older than its
arrival: of the newest ones the youngest comes nearest to the truth.
"""

from collections import deque
from collections.abc import Callable

SNAPSHOTS_KEPT = 60
APART_SECONDS = 2.0
"""Nearer than this the two clocks count as one: what a snapshot takes to come is no difference."""


class ServerClock:
    """``now`` is Unix seconds on the server; until a snapshot came, on this machine."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._begins = wall() - monotonic()
        self._told: deque[float] = deque(maxlen=SNAPSHOTS_KEPT)

    def now(self) -> float:
        """Unix seconds."""
        return self._begins + self._monotonic()

    def told(self, at: float) -> float:
        """A snapshot that was made at ``at`` (Unix seconds) has just come; gives by how much ``now`` is set."""
        self._told.append(at - self._monotonic())
        moved = max(self._told) - self._begins
        if abs(moved) < APART_SECONDS:
            return 0.0
        self._begins += moved
        return moved

    @property
    def apart(self) -> float:
        """Seconds by which this machine's clock is ahead of the server's; 0 where they count as one."""
        apart = self._wall() - self.now()
        return apart if abs(apart) >= APART_SECONDS else 0.0
