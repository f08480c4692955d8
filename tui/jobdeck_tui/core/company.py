"""Who else is acting: the acts of others as they come, so that two operators never work against each other."""

from collections import deque
from collections.abc import Iterable

from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.text.format import age, id_words, plural

SHOWN_SECONDS = 15.0
OWN_SECONDS = 15.0
"""An act of the feed so soon after one that this deck sent on the same job is that one."""
KEPT_MAX = 200
PAST = {
    "cancel": "cancelled",
    "expire": "expired",
    "resume": "resumed",
    "grant": "granted more time to",
    "clone": "cloned",
    "priority": "moved",
    "pause": "paused",
    "unpause": "unpaused",
    "drain": "drained",
    "restart": "restarted",
    "verdict": "gave a verdict on",
}
REFUSED = "refused:"


def act_words(row: AuditRow) -> str:
    """Says who did what to which job, as in ``ana cancelled 64e50cad``; what was refused is said so."""
    refused = row.result.startswith(REFUSED)
    did = f"was refused {row.act}" if refused else PAST.get(row.act, f"did {row.act}")
    return f"{row.actor} {did} {id_words(row.job_id)}" if row.job_id else f"{row.actor} {did}"


class Company:
    """The newest acts that are not this deck's own. Times are Unix seconds."""

    def __init__(self) -> None:
        self._acts: deque[tuple[AuditRow, float]] = deque(maxlen=KEPT_MAX)
        self._own: dict[str | None, float] = {}

    def own(self, now: float) -> set[str | None]:
        """What this deck has just acted on."""
        return {target for target, at in self._own.items() if now - at < OWN_SECONDS}

    def sends(self, targets: Iterable[str | None], now: float) -> None:
        """This deck sends acts on these jobs, or (None) on something that is none: their echo is no news."""
        self._own = {target: self._own[target] for target in self.own(now)} | dict.fromkeys(targets, now)

    def take(self, row: AuditRow, now: float) -> None:
        """Takes an act of the feed."""
        if row.job_id not in self.own(now):
            self._acts.append((row, now))

    def line(self, now: float) -> str:
        """The newest act for some seconds, and how many more came in that time; empty when all is quiet."""
        fresh = [row for row, came in self._acts if 0 <= now - came < SHOWN_SECONDS]
        if not fresh:
            return ""
        newest, came = self._acts[-1]
        more = f", and {plural(len(fresh) - 1, 'other act')}" if len(fresh) > 1 else ""
        return f"{act_words(newest)} {age(now - came)} ago{more}"
