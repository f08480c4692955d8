"""The orders a list of jobs can have, and the place in one that a cursor marks."""

from collections.abc import Callable
from typing import Any

from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.states import State
from jobdeck_backend.jobs.view import JobView

DEFAULT = "-accepted"
"""Newest first."""

Place = tuple[Any, str]
Key = Callable[[JobView], Any]

_STATES = {state: position for position, state in enumerate(State)}
_KEYS: dict[str, Key] = {
    "accepted": lambda view: view.source.accepted_at,
    "left": lambda view: view.source.deadline,
    "slack": lambda view: view.slack,
    "state": lambda view: _STATES[view.state],
    "queue": lambda view: view.source.queue,
    "agent": lambda view: view.source.workflow,
    "worker": lambda view: view.source.worker,
    "try": lambda view: view.source.attempt,
    "priority": lambda view: view.source.priority,
    "finished": lambda view: view.source.finished_at,
    "id": lambda view: view.source.job_id,
}


class Order:
    """A parsed ``sort``: a field, descending with ``-`` before it. Rows without a value come last either way."""

    def __init__(self, sort: str) -> None:
        """Raises ``InvalidInput`` naming the fields."""
        name = sort.removeprefix("-")
        if name not in _KEYS:
            raise InvalidInput(f"sort: there is no field {name}; the fields are: {', '.join(_KEYS)}")
        self._key = _KEYS[name]
        self._descending = sort.startswith("-")

    def place(self, view: JobView) -> Place:
        """Where a row stands."""
        return self._key(view), view.source.job_id

    def sort(self, views: list[JobView]) -> list[JobView]:
        """The rows in this order; equal ones by id, in the same direction."""
        with_value = [view for view in views if self._key(view) is not None]
        without = [view for view in views if self._key(view) is None]
        with_value.sort(key=self.place, reverse=self._descending)
        without.sort(key=lambda view: view.source.job_id, reverse=self._descending)
        return with_value + without

    def is_behind(self, view: JobView, place: Place) -> bool:
        """Whether a row comes after the place. Raises ``TypeError`` for a place of another order."""
        value, job_id = self.place(view)
        if value is None or place[0] is None:
            if (value is None) != (place[0] is None):
                return value is None
            return job_id < place[1] if self._descending else job_id > place[1]
        return (value, job_id) < place if self._descending else (value, job_id) > place
