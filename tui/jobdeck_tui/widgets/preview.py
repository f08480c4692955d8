"""What the job under the cursor is doing: its facts, why it is there, and its live events."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.event_lines import EventLines
from jobdeck_tui.core.job_view import JobView, facts
from jobdeck_tui.widgets.event_log import EventLog
from jobdeck_tui.widgets.text_line import TextLine

WHY_EVERY_SECONDS = 2.0


class Preview(Vertical):
    """Facts and events of one job; the reading itself is the program's."""

    def __init__(
        self,
        time_words: Callable[[float | None], str],
        key: Callable[[str], str],
        *,
        id: str | None = None,  # noqa: A002 (Textual's own name)
    ) -> None:
        super().__init__(id=id)
        self._time_words = time_words
        self._key = key
        self.view: JobView | None = None
        self._read: tuple[object, ...] = ()
        self._read_at = float("-inf")

    def compose(self) -> ComposeResult:
        """Two lines of facts, one of why, and the events."""
        yield TextLine(id="preview-facts")
        yield EventLog(EventLines(), self._time_words, self._key, id="preview-events")

    def on_mount(self) -> None:
        """The list keeps the keys."""
        self.query_one(EventLog).can_focus = False

    def show_view(self, view: JobView | None) -> None:
        """Shows another job, or none."""
        self.view = view
        self.query_one(EventLog).show(view.lines if view is not None else EventLines())

    def flush(self, job: Job | None, now: float) -> None:
        """Draws what changed."""
        words = self.query_one("#preview-facts", TextLine)
        if self.view is not None and (job is None or self.view.job_id != job.job_id):
            self.show_view(None)  # never one job's events under another's name (R37)
        if job is None:
            words.show([(" No job under the cursor.", "faint")])
            return
        head = facts(job, now, self.size.width)
        why = self.view.why(job) if self.view is not None else ""
        words.show([*head[0], ("\n", ""), *head[1], ("\n", ""), (f" {why}", "notice")])
        self.query_one(EventLog).flush()

    def wants_record(self, job: Job | None, now: float) -> bool:
        """Whether the record should be read again: the job went on, or the reason may have changed."""
        if job is None or self.view is None or self.view.job_id != job.job_id:
            return False
        signature = (job.job_id, job.version, job.state, job.attempt, job.stage)
        due = not job.finished and now - self._read_at > WHY_EVERY_SECONDS
        if signature == self._read and not due:
            return False
        self._read, self._read_at = signature, now
        return True
