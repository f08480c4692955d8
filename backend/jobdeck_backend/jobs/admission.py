"""Whether a deadline can be promised, and which one could be (R12). Pure.

A candidate is put into the line at its place in the dispatch order, everything is forecast with it, and the
promises given before are compared with what they were without it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jobdeck_backend.jobs.forecast import Ahead, Forecast, ServiceTime, forecast

PLACES_TRIED_MAX = 32
OFFER_GRACE_S = 2.0
"""Added to an offer, so that it still holds when it comes back as a request."""
_MOVED_S = 1e-6


@dataclass(frozen=True, slots=True)
class Line:
    """What a candidate would join."""

    ahead: Sequence[Ahead]
    slots: int
    times: Mapping[str, ServiceTime]
    now: float
    stuck: frozenset[str] = frozenset()
    """Unfinished jobs that will not start by themselves: held, or in a paused queue."""

    def forecast(self, line: Sequence[Ahead]) -> Forecast:
        """What becomes of ``line`` on these slots."""
        return forecast(line, slots=self.slots, times=self.times, now=self.now)


@dataclass(frozen=True, slots=True)
class Weighed:
    """What came of weighing a candidate."""

    holds: bool
    """Whether its deadline is met and no strict job is made late."""
    finish: float | None
    """Predicted for the deadline it asked for; None when it cannot be told."""
    offer: float | None
    """The earliest deadline found that would hold; None when nothing can be promised."""
    obstacle: str = ""
    """Why nothing can be promised, in words."""


def nothing_to_promise(obstacle: str) -> Weighed:
    """No deadline would hold, whichever it is."""
    return Weighed(holds=False, finish=None, offer=None, obstacle=obstacle)


def weigh(line: Line, candidate: Ahead, deadline: float) -> Weighed:
    """Weigh a strict candidate that asks for ``deadline``."""
    before = line.forecast(line.ahead)
    asked = _tried(line, before, candidate, deadline)
    if not line.stuck.isdisjoint(candidate.predecessors):
        return nothing_to_promise("what it waits for is held or in a paused queue")
    if asked is None:
        return nothing_to_promise("no slot takes work, or what it waits for cannot start")
    if asked.holds:
        return Weighed(holds=True, finish=asked.finish, offer=None)
    tried = asked
    for _ in range(PLACES_TRIED_MAX):
        # A later deadline is a later place, where it may finish later still: on, until both agree.
        due = max([tried.finish, *map(_behind, tried.harmed)])
        tried = _tried(line, before, candidate, due) or tried
        if tried.holds:
            break
    return Weighed(holds=False, finish=asked.finish, offer=max(tried.due, tried.finish) + OFFER_GRACE_S)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a place in the line would mean."""

    due: float
    finish: float
    harmed: Sequence[Ahead]

    @property
    def holds(self) -> bool:
        return self.finish <= self.due and not self.harmed


def _tried(line: Line, before: Forecast, candidate: Ahead, due: float) -> _Tried | None:
    """None when the candidate's finish cannot be told."""
    after = line.forecast(_joined(line.ahead, candidate, due))
    finish = after.finishes.get(candidate.job_id)
    return None if finish is None else _Tried(due, finish, _harmed(line.ahead, before, after))


def yielding(line: Line, candidate: Ahead) -> float:
    """The dispatch deadline of a best-effort candidate: behind the strict jobs that it would make late."""
    before = line.forecast(line.ahead)
    due = candidate.order[0]
    for _ in range(PLACES_TRIED_MAX):
        harmed = _harmed(line.ahead, before, line.forecast(_joined(line.ahead, candidate, due)))
        further = max(map(_behind, harmed), default=due)
        if further <= due:
            return due
        due = further
    return max(due, *(_behind(one) for one in line.ahead if one.strict_deadline is not None))


def _behind(one: Ahead) -> float:
    """The first dispatch deadline that is later to the second, which is as fine as Dask's priorities are."""
    return math.floor(one.order[0]) + 1.0


def _joined(ahead: Sequence[Ahead], candidate: Ahead, due: float) -> list[Ahead]:
    """The line with the candidate at its place; the whole chain that it waits for inherits its urgency."""
    by_id = {one.job_id: one for one in ahead} if candidate.predecessors else {}
    hastened: dict[str, Ahead] = {}
    asked = list(candidate.predecessors)
    while asked:
        one = by_id.get(asked.pop())
        if one is not None and one.job_id not in hastened and one.order[0] > due:
            hastened[one.job_id] = replace(one, order=(due, *one.order[1:]))
            asked += one.predecessors
    line = [hastened.get(one.job_id, one) for one in ahead]
    line.append(replace(candidate, order=(due, *candidate.order[1:])))
    line.sort(key=lambda one: one.order)
    return line


def _harmed(ahead: Sequence[Ahead], before: Forecast, after: Forecast) -> list[Ahead]:
    """The strict jobs that are late with the candidate, and later than without it."""
    return [
        one
        for one in ahead
        if one.strict_deadline is not None
        and one.job_id in before.finishes
        and (finish := after.finishes[one.job_id]) > one.strict_deadline
        and finish > before.finishes[one.job_id] + _MOVED_S
    ]
