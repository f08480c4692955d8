"""What an operator must hear of: jobs newly at risk, lost, held, failed or expired, until somebody has seen it.

A job alerts once for each kind and attempt, however often its forecast wavers; one that is well again leaves by
itself. The bell is asked for at most once in ``BELL_SECONDS``, whatever falls over at once.
"""

from collections.abc import Collection, Iterable

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.columns import at_risk, display_state

BELL_SECONDS = 5.0
KINDS = {"lost": "lost", "failed": "failed", "expired": "expired", "held": "held", "risk": "at risk"}
"""Kind → word, the worst first."""


def alert_of(job: Job) -> str | None:
    """The kind of alert a row stands for now; None where all is well, or an operator wanted it so."""
    state = display_state(job)
    if state == "ghost":
        return "lost"
    if state in ("failed", "expired", "held"):
        return state
    return "risk" if at_risk(job) else None


class Alerts:
    """New alerts since they were last acknowledged. Times are Unix seconds."""

    def __init__(self) -> None:
        self.silent = False
        self.since: float | None = None
        self._begun = False
        self._told: set[tuple[str, str, int]] = set()
        self._open: dict[str, str] = {}
        self._unheard = False
        self._rung_at = float("-inf")

    def begin(self) -> None:
        """All that was there before is known: from here on alerts are news."""
        self._begun = True

    def take(self, rows: Iterable[Job], now: float, own: Collection[str | None] = ()) -> None:
        """Looks at rows that changed; that a job in ``own`` expired was this operator's act."""
        for job in rows:
            kind = alert_of(job)
            if kind is None:
                self._open.pop(job.job_id, None)
                continue
            key = (job.job_id, kind, job.attempt)
            if key in self._told:
                continue
            self._told.add(key)
            if self._begun and not (kind == "expired" and job.job_id in own):
                self.since = now if not self._open else self.since
                self._open[job.job_id] = kind
                self._unheard = True

    def forget(self, job_ids: Collection[str]) -> None:
        """Jobs that are no more."""
        for job_id in job_ids:
            self._open.pop(job_id, None)
        self._told = {key for key in self._told if key[0] not in job_ids}

    def rings(self, now: float) -> bool:
        """Whether the bell is due; asking is taking it."""
        if not self._unheard or not 0 <= now - self._rung_at >= BELL_SECONDS:
            return False
        self._unheard, self._rung_at = False, now
        return not self.silent

    @property
    def job_ids(self) -> frozenset[str]:
        """The jobs that alert."""
        return frozenset(self._open)

    def words(self) -> str:
        """How many, of which kinds, as in ``3 new: 2 failed, 1 at risk``; empty when there are none."""
        kinds = list(self._open.values())
        said = [f"{count} {word}" for kind, word in KINDS.items() if (count := kinds.count(kind))]
        return f"{len(kinds)} new: {', '.join(said)}" if kinds else ""

    def acknowledge(self) -> int:
        """They were seen; gives how many."""
        seen = len(self._open)
        self._open.clear()
        self._unheard = False
        return seen
