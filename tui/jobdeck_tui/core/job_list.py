"""Which jobs the list shows, and in which order."""

from collections.abc import Callable
from time import perf_counter

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.config import SavedView
from jobdeck_tui.core.filter import FilterError
from jobdeck_tui.core.filter_fields import JOBS
from jobdeck_tui.core.jobs import JobSet
from jobdeck_tui.core.server_list import ServerList
from jobdeck_tui.core.sort import next_column, order
from jobdeck_tui.core.view_state import ViewState

REARRANGE_SECONDS = 1.0


class JobList:
    """The list's filter, order and freeze. Re-ordered at most once a second, and when the operator asks."""

    def __init__(self, jobs: JobSet) -> None:
        self._jobs = jobs
        self.filter_source = ""
        self.filter_error = ""
        self.sort_column = "risk"
        self.reverse = False
        self.columns: tuple[str, ...] = ()
        self.matching = 0
        self.server_list: ServerList | None = None
        """Where there are too many jobs to keep: what the server lists."""
        self.only: frozenset[str] | None = None
        self._matches: Callable[[Job, float], bool] | None = None
        self._frozen: dict[str, Job] | None = None
        self._arranged_at = float("-inf")
        self._arranged_revision = -1
        self._pause_seconds = REARRANGE_SECONDS
        self._frozen_revision = 0

    def filter_by(self, source: str) -> bool:
        """Takes a filter; on a mistake the old one stays and ``filter_error`` says what is wrong."""
        try:
            matches = JOBS.compile(source)
        except FilterError as error:
            self.filter_error = str(error)
            return False
        self.filter_source, self.filter_error = source.strip(), ""
        self._matches = matches if self.filter_source else None
        return True

    def preview_filter(self, source: str, now: float) -> str:
        """What a filter would show, before it is entered; empty where it is not understood."""
        try:
            matches = JOBS.compile(source)
        except FilterError as error:
            self.filter_error = str(error)
            return ""
        self.filter_error = ""
        if self.server_list is not None:
            return "Enter asks the server for what matches"
        matching = sum(1 for job in self._jobs if matches(job, now))
        return f"{matching} of {len(self._jobs)} match, Enter shows them"

    def show_view(self, view: SavedView) -> None:
        """Shows a saved view."""
        self.filter_by(view.filter)
        self.sort_column, self.reverse, self.columns = view.sort, view.reverse, view.columns

    def show_state(self, state: ViewState) -> None:
        """Shows the list as it was left."""
        self.filter_by(state.filter)
        self.filter_error = ""
        self.sort_column, self.reverse, self.columns = state.sort, state.reverse, state.columns

    def sort_next(self, step: int = 1) -> None:
        """Sorts by the next column."""
        self.sort_column = next_column(self.sort_column, step)

    def show_only(self, job_ids: frozenset[str] | None) -> None:
        """Shows just these jobs, as far as they match the filter; None shows all again."""
        self.only = job_ids
        self._arranged_at = float("-inf")

    @property
    def frozen(self) -> bool:
        """Whether the view stands still."""
        return self._frozen is not None

    @property
    def changes_while_frozen(self) -> int:
        """How many times the data changed since the view was frozen."""
        return self._jobs.revision - self._frozen_revision if self.frozen else 0

    def toggle_freeze(self) -> None:
        """Stops the view where it is (data is still collected), or lets it go on."""
        self._frozen = None if self.frozen else {job.job_id: job for job in self._jobs}
        self._frozen_revision = self._jobs.revision

    def job(self, job_id: str) -> Job | None:
        """The job as the list shows it."""
        return self._jobs.get(job_id) if self._frozen is None else self._frozen.get(job_id)

    @property
    def total(self) -> int:
        """How many jobs there are, here or on the server."""
        return len(self._jobs) if self.server_list is None else self.server_list.total

    def rearrange(self) -> None:
        """The order is to be made anew at the next look."""
        self._arranged_at = float("-inf")

    def due(self, now: float) -> bool:
        """Whether the order should be made anew: time alone changes it too, as deadlines come near."""
        waited = now - self._arranged_at
        if self.frozen or waited < self._pause_seconds:
            return waited < 0
        return self._arranged_revision != self._jobs.revision or waited > 5 * self._pause_seconds

    def arrange(self, now: float) -> list[str]:
        """The ids to show, in order; ``now`` in Unix seconds."""
        self._arranged_at, self._arranged_revision = now, self._jobs.revision
        if (listed := self.server_list) is not None:
            self.matching = listed.matching
            return [job_id for job_id in listed.ids if self.job(job_id) is not None]
        began = perf_counter()
        jobs = list(self._jobs) if self._frozen is None else list(self._frozen.values())
        if (only := self.only) is not None:
            jobs = [job for job in jobs if job.job_id in only]
        if (matches := self._matches) is not None:
            jobs = [job for job in jobs if matches(job, now)]
        self.matching = len(jobs)
        ids = [job.job_id for job in order(jobs, self.sort_column, now, reverse=self.reverse)]
        # A twentieth of a core at most, however many jobs there are.
        self._pause_seconds = max(REARRANGE_SECONDS, 20 * (perf_counter() - began))
        return ids
