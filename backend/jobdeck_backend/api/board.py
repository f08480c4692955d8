"""What the operations API reads: the line of unfinished jobs with its forecast, and rows made of the records.

Everything here is synchronous and is called from threads.
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.filters import compile_terms
from jobdeck_backend.jobs.forecast import Forecast, ServiceTime, forecast, service_times
from jobdeck_backend.jobs.orders import STATE_RANK, Order, Place
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.jobs.states import State, state_of
from jobdeck_backend.jobs.view import JobSource, JobView
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.scheduling.views import dask_state, views
from jobdeck_backend.store import epochs, figures, queues, rows
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.figures import LineRow
from jobdeck_backend.store.searches import Search

CACHED_S = 1.0


@dataclass(frozen=True)
class Picture:
    """The unfinished jobs at one moment, and what follows from them."""

    at: float
    line: Sequence[LineRow]
    """In dispatch order."""
    states: Mapping[str, State]
    forecast: Forecast
    times: Mapping[str, ServiceTime]
    queue_times: Mapping[str, ServiceTime]
    outcomes: Mapping[str, int]
    paused: Mapping[str, str]
    slots_total: int
    slots_taken: int
    """Both of this backend's cluster alone; others on the database may have theirs."""
    epochs: Set[int]
    """Those whose jobs are with this cluster."""
    scheduler_id: str | None
    """Whose picture of Dask was looked at; None when there was none."""

    def at_risk(self, row: LineRow) -> bool:
        """Whether a job is predicted to miss its deadline."""
        finish = self.forecast.finishes.get(row.job_id)
        return finish is not None and row.deadline is not None and finish > row.deadline

    def counts(self) -> dict[str, int]:
        """Jobs in each state, and how many are overdue or at risk."""
        by_state = Counter(self.states.values())
        return {
            **{state.value: by_state[state] for state in State},
            **self.outcomes,
            "overdue": sum(row.deadline is not None and row.deadline < self.at for row in self.line),
            "at_risk": sum(map(self.at_risk, self.line)),
        }

    def delivered(self) -> int:
        """Jobs that the records say Dask holds and nobody has started."""
        submitted = (row for row in self.line if row.status == Status.SUBMITTED)
        return sum(row.delivered_epoch is not None for row in submitted)


class Board:
    """Reads the records, joined with Dask's picture."""

    def __init__(self, database: Database, snapshot: Callable[[], Snapshot | None]) -> None:
        """``snapshot`` gives Dask's newest picture, None when there is none: unknown, never empty."""
        self._database = database
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._picture: Picture | None = None

    def picture(self, max_age_s: float = CACHED_S) -> Picture:
        """The picture, at most that old."""
        with self._database.read() as tx:
            return self.picture_in(tx, max_age_s)

    def picture_in(self, tx: Connection, max_age_s: float = CACHED_S) -> Picture:
        """The same for those who have a connection: asking for a second one, they would wait for each other."""
        with self._lock:
            if self._picture is None or self._is_stale(self._picture, max_age_s):
                self._picture = self._look(tx)
            return self._picture

    def _is_stale(self, picture: Picture, max_age_s: float) -> bool:
        """A picture of another scheduler's time is stale whatever its age."""
        return now() - picture.at > max_age_s or picture.scheduler_id != _scheduler_id(self._snapshot())

    def views(self, tx: Connection, sources: Sequence[JobSource]) -> list[JobView]:
        """Rows of these jobs, at most ``rows.IDS_MAX``."""
        return views(tx, sources, self._snapshot(), self.picture_in(tx).forecast.finishes)

    def matching(self, tx: Connection, search: Search, at: float) -> list[JobView]:
        """Every job that a search finds; those that the records alone do not rule out are looked at."""
        matches = compile_terms(search.rest)
        return [
            view for sources in search.pages(tx, at) for view in self.views(tx, sources) if matches(view, at)
        ]

    def unfinished(
        self,
        tx: Connection,
        order: Order,
        after: Place | None,
        limit: int,
        *,
        among: Collection[str] | None = None,
    ) -> tuple[int, list[JobView]]:
        """How many jobs are unfinished, and the first of them behind a place in an order by state or by slack.

        ``among``: counting and reading only those with one of these ids. Only the first are read; of the others no
        more than their place in the line. Raises ``TypeError`` for a place of another order.
        """
        line, blocked, snapshot = figures.line(tx), figures.open_predecessors(tx), self._snapshot()
        if among is not None:
            line = [row for row in line if row.job_id in among]
        finishes = self.picture_in(tx).forecast.finishes

        def place(row: LineRow) -> Place:
            if order.name == "state":
                return STATE_RANK[_state(row, blocked, snapshot)], row.job_id
            finish = finishes.get(row.job_id)
            return None if finish is None or row.deadline is None else row.deadline - finish, row.job_id

        places = [one for one in map(place, line) if after is None or order.is_behind(one, after)]
        ids = [job_id for _value, job_id in order.sort_places(places)[:limit]]
        return len(line), order.sort(self.views(tx, rows.load(tx, ids)))

    def load(self, job_ids: Sequence[str]) -> list[JobView]:
        """The rows of these jobs as they are now; unknown ids have none."""
        with self._database.read() as tx:
            return self.views(tx, rows.load(tx, job_ids))

    def _look(self, tx: Connection) -> Picture:
        at, snapshot = now(), self._snapshot()
        line, blocked, paused = figures.line(tx), figures.open_predecessors(tx), queues.paused(tx)
        durations = figures.newest_durations(tx)
        times = service_times((workflow, seconds) for workflow, _queue, seconds in durations)
        here = set() if snapshot is None else epochs.sharing(tx, snapshot.scheduler_id)
        taken, astray = figures.slots_taken(tx, here)
        slots = 0 if snapshot is None else snapshot.slots
        drained = () if snapshot is None else snapshot.drained
        going = [row.ahead(blocked.get(row.job_id, ()), drained) for row in line if row.goes(paused)]
        return Picture(
            at=at,
            line=line,
            states={row.job_id: _state(row, blocked, snapshot) for row in line},
            # A thread whose job was taken from it still has its slot.
            forecast=forecast(going, slots=slots - astray, times=times, now=at),
            times=times,
            queue_times=service_times((queue, seconds) for _workflow, queue, seconds in durations),
            outcomes=figures.outcomes(tx),
            paused=paused,
            slots_total=slots,
            slots_taken=taken,
            epochs=here,
            scheduler_id=_scheduler_id(snapshot),
        )


def _scheduler_id(snapshot: Snapshot | None) -> str | None:
    return None if snapshot is None else snapshot.scheduler_id


def _state(row: LineRow, blocked: Mapping[str, Sequence[str]], snapshot: Snapshot | None) -> State:
    return state_of(
        status=row.status,
        outcome=None,
        held=row.held,
        delivered=row.delivered_epoch is not None,
        blocked=row.job_id in blocked,
        dask_state=dask_state(snapshot, row.job_id),
    )
