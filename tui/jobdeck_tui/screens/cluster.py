"""Dask's own picture beside the records, and why the job under the list's cursor is where it is."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.core.cluster_words import agreement_rows, cluster_rows
from jobdeck_tui.core.job_view import JobView
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.text.format import short_id, state_label
from jobdeck_tui.widgets.text_pane import Row, TextPane

WHY_EVERY_SECONDS = 2.0
ID_CELLS = 20


class ClusterScreen(DeckScreen):
    """One page of text: scheduler, tasks, workers, agreement, why."""

    TITLE_WORDS = "Cluster"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the job", key_display="enter"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._why: JobView | None = None
        self._why_read = float("-inf")

    def compose_body(self) -> ComposeResult:
        """The page."""
        yield TextPane(id="cluster")

    def on_mount(self) -> None:
        """Keys go to the page."""
        self.set_focus(self.query_one(TextPane))

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Draws the page; asks for the reason again every two seconds."""
        deck = self.deck
        job_id = self.program.cursor_job_id
        if job_id is not None and (everything or now - self._why_read > WHY_EVERY_SECONDS):
            if self._why is None or self._why.job_id != job_id:
                self._why = JobView(job_id)
            self._why_read = now
            self.program.link.jobs.read(self, self._why)
        rows = cluster_rows(deck.overview, deck.picture, deck.workers(), now, self.size.width)
        known = deck.overview is not None and deck.picture is not None
        if deck.picture_trouble:
            rows.append([(f" {deck.picture_trouble}", "warn")])
        rows += [[], *agreement_rows(deck.differences(), known=known), []]
        self.query_one(TextPane).show([*rows, *self._why_rows(job_id)])

    def _why_rows(self, job_id: str | None) -> list[Row]:
        job = self.deck.jobs.get(job_id) if job_id is not None else None
        if job is None:
            return [[(" WHY  choose a job in the list (1) to see why it is where it is.", "faint")]]
        words = self._why.detail.why_text if self._why is not None and self._why.detail is not None else "…"
        head = f" WHY is {short_id(job.job_id, ID_CELLS)} {state_label(job.state)}?  "
        return [[(head, "strong"), (words, "notice")]]

    def action_open(self) -> None:
        """Opens the job whose reason is shown."""
        if (job_id := self.program.cursor_job_id) is not None:
            self.program.open_job(job_id)

    def action_roll(self, rows: int) -> None:
        """Scrolls the page."""
        self.query_one(TextPane).scroll_rows(rows)
