"""The base of screens that are one table, read again every few seconds while in view."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.core.columns import Column, visible
from jobdeck_tui.core.reading import Reading
from jobdeck_tui.core.records import Records, record_of
from jobdeck_tui.core.row_filter import RowFilter
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.widgets.filter_line import FilterLine
from jobdeck_tui.widgets.text_line import Piece, TextLine
from jobdeck_tui.widgets.virtual_table import Cell, Columns, VirtualTable

READ_EVERY_SECONDS = 2.0

TABLE_BINDINGS: list[BindingType] = [
    Binding("slash", "filter", "Filter", key_display="/"),
    Binding("j,down", "move(1)", "Down", show=False),
    Binding("k,up", "move(-1)", "Up", show=False),
    Binding("pagedown", "page(1)", "Page down", show=False),
    Binding("pageup", "page(-1)", "Page up", show=False),
    Binding("g,home", "move(-1000000)", "To the top", show=False),
    Binding("G,end", "move(1000000)", "To the bottom", show=False),
]


class TableScreen(DeckScreen):
    """A subclass gives the columns, the ids in their order, their cells, and one line of words above."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    TIMES: ClassVar[tuple[str, ...]] = ()
    """Which facts of a row are moments."""
    FILTER: ClassVar[str] = ""
    """Its filter's name in the deck."""

    def __init__(self) -> None:
        super().__init__()
        self._read_at = float("-inf")

    @property
    def row_filter(self) -> RowFilter[Any]:
        """What is shown of the rows."""
        return self.deck.filters[self.FILTER]

    def compose_body(self) -> ComposeResult:
        """A line of words, the table, what its cells have no room for."""
        yield TextLine(id="words")
        yield VirtualTable(self._columns_for, self._cells_of, clock=self.deck.monotonic, id="table")
        yield TextLine(id="detail")
        yield FilterLine(
            self._filter_entered,
            typed=self._filter_typed,
            complete=lambda source: self.row_filter.language.complete(source, self.rows().values()),
            history=self.deck.filter_history(self.FILTER),
            hint=f"fields: {', '.join(self.row_filter.language.fields)}   tab completes, esc leaves",
            id="filter",
        )

    @property
    def table(self) -> VirtualTable:
        """The table."""
        return self.query_one("#table", VirtualTable)

    def on_mount(self) -> None:
        """Keys go to the table."""
        self.set_focus(self.table)

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Reads again when it is time; draws what is known."""
        if everything or now - self._read_at > READ_EVERY_SECONDS or now < self._read_at:
            self.read_again()
        self.query_one("#words", TextLine).show(self.words())
        rows, shown = self.rows(), self.row_ids()
        self.table.set_rows(shown)
        self.query_one(FilterLine).refresh_line(self.row_filter.source, len(shown), len(rows))
        self.table.redraw()
        detail = self.query_one("#detail", TextLine)
        detail.show(words := self.detail(self.table.cursor_id))
        detail.display = bool(words)

    def read_again(self) -> None:
        """Reads what the table shows, now."""
        self._read_at = self.deck.now()
        self.read()

    def read(self) -> None:
        """Asks the server."""

    @property
    def reading(self) -> Reading[Any]:
        """What the table shows, as far as it was read."""
        return Reading()

    def words(self) -> list[Piece]:
        """What stands above the table: that it could not be read, or what its head says."""
        if self.reading.trouble:
            return [(f" {self.TITLE_WORDS} could not be read: {self.reading.trouble}", "bad")]
        if self.reading.items is None:
            return [(f" {self.TITLE_WORDS}: being read …", "faint")]
        return self.head()

    def head(self) -> list[Piece]:
        """How many rows there are, and what is to know about them all."""
        return []

    def detail(self, row_id: str | None) -> list[Piece]:  # noqa: ARG002
        """The row under the cursor in full, below the table."""
        return []

    def rows(self) -> Mapping[str, Any]:
        """What every row shows, by its id, in order."""
        return {}

    def row_ids(self) -> Sequence[str]:
        """The ids that the filter leaves."""
        now = self.deck.now()
        return [row_id for row_id, item in self.rows().items() if self.row_filter.matches(item, now)]

    def cell(self, row_id: str, key: str) -> Cell:  # noqa: ARG002
        """One cell."""
        return Cell("")

    def records(self) -> Records:
        """Every row that the filter leaves, with all that is known of it: a cell has not room for everything."""
        items = self.rows()
        return Records(
            self.TITLE_WORDS.lower(), [record_of(items[row_id], self.TIMES) for row_id in self.row_ids()]
        )

    def _columns_for(self, width: int) -> Columns:
        return visible(width, self.COLUMNS)

    def _cells_of(self, row_id: str, columns: Columns) -> Sequence[Cell]:
        return [self.cell(row_id, column.key) for column in columns if isinstance(column, Column)]

    @on(VirtualTable.Moved)
    def _moved(self) -> None:
        self.flush()

    @on(VirtualTable.Opened)
    def _opened(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Opens the row under the cursor."""

    def _filter_typed(self, source: str) -> None:
        advice = self.row_filter.preview(source, self.rows().values(), self.deck.now())
        self.query_one(FilterLine).advise(advice, self.row_filter.error)

    def _filter_entered(self, source: str) -> str:
        self.row_filter.take(source)
        self.flush()
        return self.row_filter.error

    def action_filter(self) -> None:
        """Opens the filter."""
        self.query_one(FilterLine).open(self.row_filter.source)

    def action_leave(self) -> None:
        """Takes the filter away, else goes back to the jobs."""
        if self.row_filter.source:
            self.row_filter.take("")
            self.flush()
        else:
            super().action_leave()

    def action_move(self, rows: int) -> None:
        """Moves the cursor."""
        self.table.move_by(rows)

    def action_page(self, pages: int) -> None:
        """Moves the cursor by pages."""
        self.table.page_by(pages)
