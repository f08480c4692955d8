"""When each unfinished job should be done: list scheduling over the live slots in dispatch order (R12).

What is ahead counts with its workflow's mean, the job itself with the p95: a promise should hold nearly always,
while nineteen of twenty jobs ahead will be faster than that.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """How long executions of a workflow took, in seconds, over its newest ``count`` successes."""

    mean: float
    p50: float
    p95: float
    count: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """One unfinished job in the line. ``started_at`` is set while it runs."""

    job_id: str
    workflow: str
    started_at: float | None = None
    predecessors: Collection[str] = ()
    """Those still unfinished."""
    order: tuple[float, int, float] = (0.0, 0, 0.0)
    """Its place in the dispatch order: dispatch deadline, negated priority, acceptance."""
    strict_deadline: float | None = None
    """What a strict admission was promised."""
    slot_closes: bool = False
    """Whether its slot takes nothing after it: its worker is drained."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Predicted finishes by job id, as far as they can be told, and the seconds until the line is empty."""

    finishes: Mapping[str, float]
    drain_seconds: float | None


def service_times(durations: Iterable[tuple[str, float]]) -> dict[str, ServiceTime]:
    """Sum up ``(name, seconds)`` of finished executions by name."""
    by_name: dict[str, list[float]] = {}
    for name, seconds in durations:
        by_name.setdefault(name, []).append(seconds)
    return {name: _sum_up(sorted(values)) for name, values in by_name.items()}


def _sum_up(values: Sequence[float]) -> ServiceTime:
    last = len(values) - 1
    return ServiceTime(fmean(values), values[round(last * 0.5)], values[round(last * 0.95)], len(values))


def forecast(line: Sequence[Ahead], *, slots: int, times: Mapping[str, ServiceTime], now: float) -> Forecast:
    """Schedule the line, running jobs first and the others in the order given.

    A workflow that never finished yet counts with the mean over all of them where it is ahead, and is not
    predicted itself. ``slots``: threads that can take work, those of the running jobs among them.
    """
    if not times:
        return Forecast({}, 0.0 if not line else None)
    scheduling = _Scheduling(times, now)
    running = [one for one in line if one.started_at is not None]
    for one in running:
        scheduling.place_running(one)
    scheduling.add_idle(slots - len(running))
    if scheduling.free:
        waiting = [one for one in line if one.started_at is None]
        for one in [one for one in waiting if not one.predecessors]:
            scheduling.place(one)
        for one in [one for one in waiting if one.predecessors]:
            scheduling.place(one)
    unplaced = len(line) - len(scheduling.ends)
    return Forecast(
        scheduling.finishes, None if unplaced else max(scheduling.ends.values(), default=now) - now
    )


class _Scheduling:
    """The slots as a heap of the moments they become free."""

    def __init__(self, times: Mapping[str, ServiceTime], now: float) -> None:
        self._times = times
        self._now = now
        self._mean = fmean(time.mean for time in times.values())
        self.free: list[float] = []
        self.finishes: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        """When each job is expected to leave its slot: by the mean, as those behind it see it."""

    def add_idle(self, count: int) -> None:
        for _ in range(count):
            heapq.heappush(self.free, self._now)

    def place_running(self, one: Ahead) -> None:
        assert one.started_at is not None
        end = self._note(one, one.started_at)
        if not one.slot_closes:
            heapq.heappush(self.free, end)

    def place(self, one: Ahead) -> None:
        start = self.free[0]
        for predecessor in one.predecessors:
            start = max(start, self.ends.get(predecessor, start))
        heapq.heapreplace(self.free, self._note(one, start))

    def _note(self, one: Ahead, start: float) -> float:
        time = self._times.get(one.workflow)
        end = self._expected(start + (self._mean if time is None else time.mean))
        if time is not None:
            self.finishes[one.job_id] = self._expected(start + time.p95)
        self.ends[one.job_id] = end
        return end

    def _expected(self, end: float) -> float:
        """An end that is yet to come. What should have ended by now is taken to need as long again as it is late:
        it has shown that it is no usual one, and its deadline is to be seen at risk before it has passed."""
        return self._now + abs(end - self._now)
