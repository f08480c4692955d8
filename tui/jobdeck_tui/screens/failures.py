"""Failures: what failed, by kind and stage; one kind's example with its traceback and its worker's log."""

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.workers import Failure, WorkerLog
from jobdeck_tui.core.columns import Column
from jobdeck_tui.core.failure_words import failure_rows, log_rows
from jobdeck_tui.core.reading import Reading
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.table import TABLE_BINDINGS, TableScreen
from jobdeck_tui.screens.worker_log import ROLL_BINDINGS
from jobdeck_tui.text.format import NONE, age, number, plural
from jobdeck_tui.widgets.text_line import Piece
from jobdeck_tui.widgets.text_pane import TextPane
from jobdeck_tui.widgets.virtual_table import Cell


class FailuresScreen(TableScreen):
    """A line for each kind, the one last seen first."""

    TITLE_WORDS = "Failures"
    TIMES = ("last_seen",)
    FILTER = "failures"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Traceback and log", key_display="enter"),
        *TABLE_BINDINGS,
    ]
    COLUMNS = (
        Column("count", "COUNT", 5, right=True),
        Column("last", "LAST", 6, right=True),
        Column("kind", "ERROR", 20, to_width=109),
        Column("kind", "ERROR", 28, 110),
        Column("stage", "STAGE", 16, 50),
        Column("note", "NEWEST", 0, 70),
    )

    def read(self) -> None:
        """Asks for every kind."""
        self.program.link.operations.read_failures(self)

    @property
    def reading(self) -> Reading[Failure]:
        """What failed, by kind."""
        return self.deck.failures

    def head(self) -> list[Piece]:
        """How many failed, of how many kinds."""
        kinds = self.rows().values()
        if not kinds:
            return [(" ✔ No job has failed.", "good")]
        jobs = plural(sum(kind.count for kind in kinds), "job")
        return [(f" {jobs} failed, of {plural(len(kinds), 'kind')}", "strong")]

    def rows(self) -> Mapping[str, Failure]:
        """The one last seen first."""
        return {kind.key: kind for kind in self.deck.failures.items or ()}

    def cell(self, row_id: str, key: str) -> Cell:
        """One fact of a kind."""
        kind = self._kind(row_id)
        if kind is None:
            return Cell("")
        match key:
            case "count":
                return Cell(number(kind.count), "failed")
            case "last":
                return Cell(age(max(0.0, self.deck.now() - kind.last_seen)))
            case "kind":
                return Cell(kind.error_type or NONE, "strong")
            case "stage":
                return Cell(kind.stage or NONE)
            case _:
                return Cell(kind.message, "faint")

    def detail(self, row_id: str | None) -> list[Piece]:
        """What the newest one of the kind said."""
        kind = self._kind(row_id)
        return [] if kind is None else [(f" {kind.job_id}: ", "faint"), (kind.message, "notice")]

    def _kind(self, key: str | None) -> Failure | None:
        return next((kind for kind in self.deck.failures.items or () if kind.key == key), None)

    def hides(self, binding: Binding) -> bool:
        """There is nothing to open without a failure."""
        return binding.action == "open" and self.table.cursor_id is None

    def action_open(self) -> None:
        """Shows the newest job of this kind: where it failed, and what its worker logged."""
        kind = self._kind(self.table.cursor_id)
        if kind is not None:
            self.deck.hush()
            self.program.push_screen(FailureScreen(kind))


class FailureScreen(DeckScreen):
    """One failure: message, traceback, the end of the worker's log."""

    TITLE_WORDS = "Failure"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "leave", "Back", key_display="esc"),
        Binding("enter", "open", "Open the job", key_display="enter"),
        *ROLL_BINDINGS,
    ]

    def __init__(self, kind: Failure) -> None:
        super().__init__()
        self._kind = kind
        self._log: WorkerLog | str | None = None

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield TextPane(id="failure")

    def on_mount(self) -> None:
        """Reads the worker's log."""
        self.set_focus(self.query_one(TextPane))
        if self._kind.worker is not None:
            self.program.link.operations.read_log(self, self._kind.worker, self._take)

    def _take(self, log: WorkerLog | str) -> None:
        self._log = log

    def flush_body(self, now: float, *, everything: bool) -> None:  # noqa: ARG002
        """Draws the page."""
        rows = [*failure_rows(self._kind, now), *log_rows(self._kind, self._log)]
        self.query_one(TextPane).show(rows)

    def action_open(self) -> None:
        """Opens the job."""
        self.program.open_job(self._kind.job_id, "record")

    def action_roll(self, rows: int) -> None:
        """Scrolls the page."""
        self.query_one(TextPane).scroll_rows(rows)

    def action_leave(self) -> None:
        """Back to the kinds."""
        self.program.pop_screen()
