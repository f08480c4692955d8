"""One-key acts as a state machine: nothing is sent while the grace runs, and every result is tracked.

    GRACE ──due, or the same key again──► SENT ──2xx──► ACCEPTED ──a row shows it──► SEEN
      │ u                                  ├──4xx──────► REFUSED ◄─looked: not done─┐ ▲
      ▼                                    └──no answer► UNKNOWN ──a row shows it───┴─┘
    UNDONE

The target's id and version are frozen at the key press: an act can never land on another row, nor on a newer
state of the row than the operator saw; but one that only started meanwhile is asked for again as it is now.
``now`` is Unix seconds of one clock throughout.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count

from jobdeck_tui.client.models import Job
from jobdeck_tui.text.format import id_words, state_word

from .columns import display_state
from .eligibility import Act

GRACE_SECONDS = 3.0
HISTORY_MAX = 200
RESULT_TOLD_SECONDS = 8.0


class Phase(Enum):
    """How far an act has come."""

    GRACE = "requested"
    SENT = "sent"
    ACCEPTED = "accepted"
    SEEN = "seen"
    REFUSED = "refused"
    UNKNOWN = "outcome unknown, checking"
    UNDONE = "undone"


GOES_ON = frozenset({"backlog", "waiting", "queued", "assigned", "running"})
"""From each of these to each other a job comes by itself."""
WANTED_STATE = {Act.CANCEL: "cancelled", Act.EXPIRE: "expired"}
"""The state an act is for; a job that has it needs the act no more."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """One act on one job; ``version`` and ``deadline`` are the row's as the operator saw it."""

    number: int
    act: Act
    job_id: str
    version: int
    deadline: float | None
    requested_at: float
    due_at: float
    phase: Phase
    text: str = ""
    extend_seconds: float | None = None
    reason: str = ""

    @property
    def awaits_reason(self) -> bool:
        """Whether its grace stands still while the operator says why."""
        return self.phase is Phase.GRACE and self.due_at == float("inf")

    def line(self, now: float, key: Callable[[str], str]) -> str:
        """Say it in one line, as in ``cancel 64e50cad in 3 s · u undo · c now``; ``key`` names keys."""
        name = f"{self.act.value} {id_words(self.job_id)}"
        if self.awaits_reason:
            return f"{name}: say why; nothing is sent before"
        if self.phase is Phase.GRACE:
            keys = f"{key('undo')} undo · {key(f'act.{self.act.value}')} now"
            return f"{name} in {max(self.due_at - now, 0.0):.0f} s · {keys}"
        return f"{name}: {self.text or self.phase.value}"


class Acts:
    """The acts of this operator in this session."""

    def __init__(self, grace_seconds: float = GRACE_SECONDS) -> None:
        self.grace_seconds = grace_seconds
        self._newest: Tracked | None = None
        """The act that came further last, whichever was asked for first."""
        self._told: tuple[Tracked, float] | None = None
        """What was told of it, and since when."""
        self._open: dict[int, Tracked] = {}
        self._ended: deque[Tracked] = deque(maxlen=HISTORY_MAX)
        self._numbers = count(1)

    def request(self, act: Act, job: Job, now: float, *, extend_seconds: float | None = None) -> Tracked:
        """Begin the grace of an act; the same act asked again on the same job becomes due at once.

        Another act on the same job takes the place of one whose grace still runs.
        """
        running = self.on_job(job.job_id)
        if running is not None and running.phase is Phase.GRACE:
            if running.act is act:
                return self._keep(replace(running, due_at=now))
            self._end(running, Phase.UNDONE, f"replaced by {act.value}")
        due_at = now + self.grace_seconds
        return self._keep(
            Tracked(
                next(self._numbers),
                act,
                job.job_id,
                job.version,
                job.deadline,
                now,
                due_at,
                Phase.GRACE,
                extend_seconds=extend_seconds,
            )
        )

    def confirmed(
        self,
        act: Act,
        jobs: Iterable[Job],
        now: float,
        *,
        extend_seconds: float | None = None,
        reason: str = "",
    ) -> list[Tracked]:
        """Take acts a dialogue has already confirmed: they are due at once."""
        asked = [self.request(act, job, now, extend_seconds=extend_seconds) for job in jobs]
        return [self._keep(replace(tracked, due_at=now, reason=reason)) for tracked in asked]

    def hold(self) -> Tracked | None:
        """Let the grace of the newest pending act stand still, while its reason is asked for."""
        pending = self.pending()
        return self._keep(replace(pending[-1], due_at=float("inf"))) if pending else None

    def go_on(self, number: int, now: float, reason: str | None) -> Tracked | None:
        """The reason was said: the act is due. None: it was not, and the grace begins anew."""
        held = self._open.get(number)
        if held is None or not held.awaits_reason:
            return None
        if reason is None:
            return self._keep(replace(held, due_at=now + self.grace_seconds))
        return self._keep(replace(held, due_at=now, reason=reason))

    def clock_set(self, seconds: float) -> None:
        """The clock was set by so much: what is left of a grace stays."""
        for waiting in self.pending():
            self._keep(replace(waiting, due_at=waiting.due_at + seconds))

    def undo(self) -> Tracked | None:
        """Take back the newest act whose grace still runs."""
        pending = self.pending()
        return self._end(pending[-1], Phase.UNDONE, "undone, nothing was sent") if pending else None

    def drop_pending(self, reason: str) -> list[Tracked]:
        """Take back every act in its grace, as when the program ends."""
        return [self._end(pending, Phase.UNDONE, reason) for pending in self.pending()]

    def due(self, now: float, *, live: bool) -> list[Tracked]:
        """Give the acts to send now, as sent; without a live connection they are refused instead."""
        ready = [tracked for tracked in self.pending() if tracked.due_at <= now]
        if live:
            return [self._keep(replace(tracked, phase=Phase.SENT, text="sent")) for tracked in ready]
        for tracked in ready:
            self._end(tracked, Phase.REFUSED, "not sent: the connection was lost")
        return []

    def accepted(self, number: int, job: Job | None, now: float) -> Tracked | None:
        """The server did it; ``job`` is the newest row known."""
        tracked = self._open.get(number)
        if tracked is None:
            return None
        self._keep(replace(tracked, phase=Phase.ACCEPTED, text="accepted"))
        self.observe((job,) if job is not None else (), now)
        return self._open.get(number) or next((past for past in self._ended if past.number == number), None)

    def refused(self, number: int, message: str, current: Job | None = None) -> Tracked | None:
        """The server would not; ``current`` is the row as it is: where it is so already, that is said."""
        tracked = self._open.get(number)
        if tracked is None:
            return None
        if current is None:
            return self._end(tracked, Phase.REFUSED, f"refused: {message}")
        state = state_word(display_state(current))
        if current.state == WANTED_STATE.get(tracked.act):
            return self._end(tracked, Phase.REFUSED, f"already done: it is {state}; nothing was changed")
        return self._end(tracked, Phase.REFUSED, f"refused, it is {state} now: {message}")

    def once_more(self, number: int, current: Job) -> Tracked | None:
        """The act as sent on the row as it is now, where the job has only gone on since the key press: whoever
        cancels a queued job wants it cancelled, also when it starts in that moment.

        None where it ended, is held, or somebody moved its deadline: that the operator has to see first.
        """
        tracked = self._open.get(number)
        if tracked is None or tracked.act not in WANTED_STATE or current.version <= tracked.version:
            return None
        if current.state not in GOES_ON or current.deadline != tracked.deadline:
            return None
        return self._keep(replace(tracked, version=current.version))

    def unknown(self, number: int) -> Tracked | None:
        """No answer came: it may or may not have been done; the rows will tell."""
        tracked = self._open.get(number)
        return self._keep(replace(tracked, phase=Phase.UNKNOWN, text="")) if tracked else None

    def looked(self, number: int, job: Job, now: float, *, last: bool) -> Tracked | None:
        """The row was read because no answer came. Without the effect in it, only the ``last`` look decides.

        Gives the act where that settled it.
        """
        seen = self.observe((job,), now)
        tracked = self._open.get(number)
        if tracked is None or tracked.phase is not Phase.UNKNOWN:
            return next((one for one in seen if one.number == number), None)
        state = state_word(display_state(job))
        if job.finished and job.version > tracked.version:
            return self._end(tracked, Phase.REFUSED, f"no answer came; looked: it is {state}")
        if last:
            still = "still" if job.version == tracked.version else "now"
            return self._end(
                tracked, Phase.REFUSED, f"no answer came; looked: not done, it is {still} {state}"
            )
        return None

    def observe(self, jobs: Iterable[Job], now: float) -> list[Tracked]:
        """Look at rows that arrived; give the acts whose effect they show."""
        rows = {job.job_id: job for job in jobs}
        waiting = (Phase.ACCEPTED, Phase.UNKNOWN)
        seen: list[Tracked] = []
        for tracked in list(self._open.values()):
            job = rows.get(tracked.job_id)
            if job is not None and tracked.phase in waiting and _shows(tracked, job):
                took = now - tracked.due_at
                text = f"seen: {state_word(display_state(job))} after {max(took, 0.0):.1f} s"
                seen.append(self._end(tracked, Phase.SEEN, text))
        return seen

    def is_open(self, number: int) -> bool:
        """Whether an act is not settled yet."""
        return number in self._open

    def on_job(self, job_id: str) -> Tracked | None:
        """Give the newest open act on a job."""
        return next(
            (open_act for open_act in reversed(self._open.values()) if open_act.job_id == job_id), None
        )

    def pending(self) -> list[Tracked]:
        """Give the acts whose grace runs, oldest first."""
        return [tracked for tracked in self._open.values() if tracked.phase is Phase.GRACE]

    def to_tell(self, now: float) -> Tracked | None:
        """Give the act whose grace runs, else how the last to end has ended, for some seconds, else one under way.

        Wherever it is asked: a result that was told for its time is not told again.
        """
        if pending := self.pending():
            return pending[-1]
        newest = self._newest
        if newest is not None and newest.number not in self._open:
            if self._told is None or self._told[0] != newest:
                self._told = newest, now
            if now - self._told[1] <= RESULT_TOLD_SECONDS:
                return newest
        return next(reversed(self._open.values()), None)

    def unfinished(self) -> list[Tracked]:
        """Give the acts that are not settled yet, oldest first."""
        return list(self._open.values())

    def history(self) -> list[Tracked]:
        """Give all acts, newest first."""
        return sorted((*self._open.values(), *self._ended), key=lambda tracked: -tracked.number)

    def _keep(self, tracked: Tracked) -> Tracked:
        self._open[tracked.number] = self._newest = tracked
        return tracked

    def _end(self, tracked: Tracked, phase: Phase, text: str) -> Tracked:
        self._open.pop(tracked.number, None)
        ended = replace(tracked, phase=phase, text=text)
        self._ended.append(ended)
        self._newest = ended
        return ended


def _shows(tracked: Tracked, job: Job) -> bool:
    """Whether a row shows the act's effect. A cancel is seen only once the worker acknowledged it."""
    if tracked.act is Act.CANCEL:
        return job.state == "cancelled" and not job.cancelling
    if tracked.act is Act.EXPIRE:
        return job.state == "expired"
    if tracked.act is Act.RESUME:
        return job.version > tracked.version and not (job.finished and job.state != "succeeded")
    return job.version > tracked.version
