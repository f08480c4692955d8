"""The orders a list of jobs can have, and the place in one that a cursor marks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.states import State
from jobdeck_backend.jobs.view import JobView

DEFAULT = "-accepted"
"""Newest first."""

GROUP = 1e11
"""Wider than any time in a key of ``risk``, so that its groups never mix."""
RECENT_FAILURE_S = 15 * 60.0

Place = tuple[Any, str]
Key = Callable[[JobView, float], Any]


def risk(view: JobView, now: float) -> float:
    """The deck's own order.

    Over the deadline (most over first), failed in the last quarter of an hour, held, least time left, without a
    deadline (oldest first), finished (newest first).
    """
    source = view.source
    deadline, ended = source.deadline, source.finished_at
    if view.finished:
        if view.state is State.FAILED and ended is not None and ended >= now - RECENT_FAILURE_S:
            return GROUP - ended
        return 6 * GROUP - (source.accepted_at if ended is None else ended)
    if deadline is not None and deadline <= now:
        return deadline
    if view.state is State.HELD:
        return 2 * GROUP + source.accepted_at
    return 4 * GROUP + source.accepted_at if deadline is None else 3 * GROUP + deadline


STATE_RANK = {state: position for position, state in enumerate(State)}
_KEYS: dict[str, Key] = {
    "risk": risk,
    "accepted": lambda view, _now: view.source.accepted_at,
    "left": lambda view, _now: view.source.deadline,
    "slack": lambda view, _now: view.slack,
    "state": lambda view, _now: STATE_RANK[view.state],
    "queue": lambda view, _now: view.source.queue,
    "agent": lambda view, _now: view.source.workflow,
    "worker": lambda view, _now: view.source.worker,
    "try": lambda view, _now: view.source.attempt,
    "priority": lambda view, _now: view.source.priority,
    "finished": lambda view, _now: view.source.finished_at,
    "id": lambda view, _now: view.source.job_id,
}


class Order:
    """A parsed ``sort``: a field, descending with ``-`` before it. Rows without a value come last either way."""

    def __init__(self, sort: str, now: float) -> None:
        """``now`` in Unix seconds. Raises ``InvalidInput`` naming the fields."""
        name = sort.removeprefix("-")
        if name not in _KEYS:
            raise InvalidInput(f"sort: there is no field {name}; the fields are: {', '.join(_KEYS)}")
        self.name = name
        self._of, self._now = _KEYS[name], now
        self._descending = sort.startswith("-")
        self.begins_unfinished = name == "slack" or sort == "state"
        """Whether no finished job comes before one that is not."""

    def _key(self, view: JobView) -> Any:
        return self._of(view, self._now)

    def place(self, view: JobView) -> Place:
        """Where a row stands."""
        return self._key(view), view.source.job_id

    def sort(self, views: Sequence[JobView]) -> list[JobView]:
        """The rows in this order; equal ones by id, in the same direction."""
        by_id = {view.source.job_id: view for view in views}
        return [by_id[job_id] for _value, job_id in self.sort_places(map(self.place, views))]

    def sort_places(self, places: Iterable[Place]) -> list[Place]:
        """The places of some rows, from the first on."""
        with_value: list[Place] = []
        without: list[Place] = []
        for place in places:
            (without if place[0] is None else with_value).append(place)
        with_value.sort(reverse=self._descending)
        without.sort(key=lambda place: place[1], reverse=self._descending)
        return with_value + without

    def is_behind(self, place: Place, other: Place) -> bool:
        """Whether a place comes after the other. Raises ``TypeError`` for a place of another order."""
        if place[0] is None or other[0] is None:
            if (place[0] is None) != (other[0] is None):
                return place[0] is None
            return place[1] < other[1] if self._descending else place[1] > other[1]
        return place < other if self._descending else place > other
