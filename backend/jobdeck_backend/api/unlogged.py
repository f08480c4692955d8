"""What changes about a job without an event in the log: Dask's word, the forecast, the age of a heartbeat."""

from collections.abc import Mapping

from jobdeck_backend.api.board import Picture
from jobdeck_backend.jobs.states import State

HEARTBEAT_S = 5.0
"""How often rows of running jobs are sent for the age of their heartbeat alone."""
FORECAST_ROWS_MAX = 200
"""Predictions that are news in one look; the others are in the next."""
FORECAST_MOVED_S = 5.0
FORECAST_MOVED_SHARE = 0.1

Prediction = tuple[float | None, bool]
"""The predicted finish, and whether it is past the deadline."""
NOTHING: Prediction = (None, False)
"""What was said of a job when its row was first sent: that is the moment before anything is known of it."""


class UnloggedChanges:
    """Remembers the last look and the rows that were sent, and tells which jobs differ from them.

    A row is made when it is sent, so it may know of a moment that no look sees: it is held against the next one.
    """

    def __init__(self) -> None:
        self._dask_states: Mapping[str, str] = {}
        self._states: Mapping[str, State] | None = None
        self._sent: dict[str, State] = {}
        self._told: dict[str, Prediction] | None = None
        self._heartbeats_due = 0.0

    def since_last_look(self, picture: Picture, dask_states: Mapping[str, str], now: float) -> set[str]:
        """The unfinished jobs of which something changed. One that went has told so in the log.

        So has one that came, but before this picture: what Dask and the forecast say of it is news.
        """
        changed: set[str] = set()
        if dask_states is not self._dask_states:
            before, self._dask_states = self._dask_states, dask_states
            changed.update(
                job_id for job_id in picture.states if before.get(job_id) != dask_states.get(job_id)
            )
        if picture.states is not self._states:
            known = self._sent if self._states is not None else picture.states
            self._states, self._sent = picture.states, dict(picture.states)
            changed.update(job_id for job_id, state in picture.states.items() if known.get(job_id) != state)
            if picture.slots_total:  # without a slot nothing is predicted: that is soon over, and no news
                changed |= self._moved_predictions(picture)
        if now >= self._heartbeats_due:
            self._heartbeats_due = now + HEARTBEAT_S
            changed.update(job_id for job_id, state in picture.states.items() if state is State.RUNNING)
        return changed

    def sent(self, states: Mapping[str, State]) -> None:
        """The states that rows have just told."""
        self._sent.update(states)

    def _moved_predictions(self, picture: Picture) -> set[str]:
        before, self._told = self._told, {}
        moved: set[str] = set()
        for row in picture.line:
            said = picture.forecast.finishes.get(row.job_id), picture.at_risk(row)
            known = said if before is None else before.get(row.job_id, NOTHING)
            if len(moved) < FORECAST_ROWS_MAX and _has_moved(known, said, picture.at):
                moved.add(row.job_id)
                known = said
            self._told[row.job_id] = known
        return moved


def _has_moved(known: Prediction, said: Prediction, at: float) -> bool:
    if known[1] is not said[1] or (known[0] is None) != (said[0] is None):
        return True
    if known[0] is None or said[0] is None:
        return False
    return abs(known[0] - said[0]) > max(FORECAST_MOVED_S, FORECAST_MOVED_SHARE * (said[0] - at))
