"""A table of any number of rows that draws only the lines in view.

The table holds ids, not rows: cells come from the caller when a line is drawn. Its cursor sticks to an id.
Where the row under the cursor was not chosen by the operator (nothing touched yet, or the chosen row left
the list), the time of the last such change is known, so that an act on a row that just slid in is refused.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from time import monotonic
from typing import NamedTuple, Protocol

from rich.segment import Segment
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from jobdeck_tui.text.format import fit
from jobdeck_tui.widgets.line_view import LineView

STRIPS_KEPT_MAX = 150


class Cell(NamedTuple):
    """One drawn cell: sanitised text and the name of its style ("" for the row's own)."""

    text: str
    style: str = ""


class TableColumn(Protocol):
    """What the table needs to know of a column."""

    @property
    def title(self) -> str:
        """What stands above it."""

    @property
    def width(self) -> int:
        """Its cells."""

    @property
    def right(self) -> bool:
        """Whether it is set to the right."""


Columns = Sequence[TableColumn]


class _Drawn(NamedTuple):
    cells: Sequence[Cell]
    strip: Strip


class VirtualTable(LineView, can_focus=True):
    """Rows by id; ``columns_for(width)`` chooses columns, ``cells(id)`` fills them in the same order.

    ``width`` is the whole view's, its scrollbar included.
    """

    class Moved(Message):
        """The cursor is on another row; ``row_id`` is None when no row is under it."""

        def __init__(self, row_id: str | None) -> None:
            super().__init__()
            self.row_id = row_id

        def can_replace(self, message: Message) -> bool:
            """Only the newest position matters."""
            return isinstance(message, VirtualTable.Moved)

    class Opened(Message):
        """The operator clicked a row twice."""

        def __init__(self, row_id: str) -> None:
            super().__init__()
            self.row_id = row_id

    def __init__(
        self,
        columns_for: Callable[[int], Columns],
        cells: Callable[[str, Columns], Sequence[Cell]],
        *,
        clock: Callable[[], float] = monotonic,
        id: str | None = None,  # noqa: A002 (Textual's own name)
    ) -> None:
        super().__init__(id=id)
        self._columns_for = columns_for
        self._cells = cells
        self._clock = clock
        self._ids: Sequence[str] = ()
        self._cursor = 0
        self._touched = False
        self._slid_at = float("-inf")
        self._moved_at = float("-inf")
        self._marked: frozenset[str] = frozenset()
        self._drawn: dict[tuple[str, bool, bool], _Drawn] = {}
        """Lines by their id, and whether they are marked and under the cursor."""
        self._columns: Columns = ()

    @property
    def cursor_id(self) -> str | None:
        """The id under the cursor."""
        return self._ids[self._cursor] if self._ids else None

    @property
    def cursor(self) -> int:
        """The row under the cursor by its position."""
        return self._cursor

    @property
    def slid_seconds_ago(self) -> float:
        """Seconds since another row came under the cursor without the operator moving it."""
        return self._clock() - self._slid_at

    @property
    def untouched_seconds(self) -> float:
        """Seconds since the operator moved the cursor last."""
        return self._clock() - self._moved_at

    @property
    def shown_ids(self) -> Sequence[str]:
        """All ids in their order."""
        return self._ids

    def visible_ids(self) -> Sequence[str]:
        """The ids on the lines in view."""
        top = self.scroll_offset.y
        return self._ids[top : top + max(0, self.size.height - 1)]

    def set_rows(self, ids: Sequence[str]) -> None:
        """Shows ``ids`` in this order; the cursor stays on its id, and its line where it was."""
        if ids == self._ids:
            return
        before = self.cursor_id
        line = self._cursor - self.scroll_offset.y
        self._ids = ids
        index = self._index(before) if self._touched and before is not None else None
        self._cursor = max(0, min(self._cursor, len(ids) - 1)) if index is None else index
        self.hold_lines(len(ids) + 1)
        if self.cursor_id != before:
            self._slid_at = self._clock()
            self.post_message(self.Moved(self.cursor_id))
        if self._touched:
            self.scroll_to(y=max(0, self._cursor - line), animate=False, force=True)
        self.refresh()

    def refresh_rows(self, ids: Collection[str]) -> None:
        """Draws these rows again, if they are in view and any cell is another."""
        wanted = ids if isinstance(ids, (set, frozenset, dict)) else set(ids)
        for key in [key for key in self._drawn if key[0] in wanted]:
            if self._drawn[key].cells != self._cells(key[0], self._columns):
                del self._drawn[key]
        top = self.scroll_offset.y
        for line, row_id in enumerate(self.visible_ids()):
            if row_id in wanted and self._key(top + line) not in self._drawn:
                self._refresh_index(top + line)

    def set_marked(self, marked: Collection[str]) -> None:
        """Marks exactly these ids."""
        if self._marked != marked:
            changed = self._marked ^ frozenset(marked)
            self._marked = frozenset(marked)
            top = self.scroll_offset.y
            for line, row_id in enumerate(self.visible_ids()):
                if row_id in changed:
                    self._refresh_index(top + line)

    def redraw(self) -> None:
        """Forgets every drawn line: columns, styles or the meaning of all cells changed."""
        self._drawn.clear()
        self._columns = ()
        self.refresh()

    def move_to(self, index: int, *, touched: bool = True) -> None:
        """Puts the cursor on a row by its position; ``touched`` is False to rest at the top again."""
        self._touched = touched
        self._slid_at, self._moved_at = float("-inf"), self._clock()
        index = max(0, min(index, len(self._ids) - 1))
        if index == self._cursor:
            self._show_cursor()
            return
        old, self._cursor = self._cursor, index
        self._refresh_index(old)
        self._refresh_index(index)
        self._show_cursor()
        self.post_message(self.Moved(self.cursor_id))

    def move_to_id(self, row_id: str) -> bool:
        """Puts the cursor on an id; False when it is not shown."""
        index = self._index(row_id)
        if index is None:
            return False
        self.move_to(index)
        return True

    def _index(self, row_id: str) -> int | None:
        # Looked for when it is asked: a map of all ids would cost more at each new order, and much memory.
        try:
            return self._ids.index(row_id)
        except ValueError:
            return None

    def offer(self, row_id: str) -> bool:
        """Puts the cursor on an id nobody chose: it counts as slid under the cursor."""
        offered = self.move_to_id(row_id)
        self._slid_at = self._clock()
        return offered

    def move_by(self, rows: int) -> None:
        """Moves the cursor by some rows."""
        self.move_to(self._cursor + rows)

    def page_by(self, pages: int) -> None:
        """Moves the cursor by whole pages."""
        self.move_by(pages * max(1, self.size.height - 2))

    def _show_cursor(self) -> None:
        height = max(1, self.size.height - 1)
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False, force=True)
        elif self._cursor >= top + height:
            self.scroll_to(y=self._cursor - height + 1, animate=False, force=True)

    def _refresh_index(self, index: int) -> None:
        line = index - self.scroll_offset.y + 1
        if 1 <= line < self.size.height:
            self.refresh(Region(0, line, self.line_width, 1))

    def on_click(self, event: Click) -> None:
        """A click chooses the row, a second one opens it."""
        index = self.scroll_offset.y + event.y - 1
        if event.y < 1 or index >= len(self._ids):
            return
        self.move_to(index)
        if event.chain == 2 and self.cursor_id is not None:
            self.post_message(self.Opened(self.cursor_id))

    def on_resize(self) -> None:
        """Another width may mean other columns."""
        self.hold_lines(len(self._ids) + 1)
        self.redraw()
        self._show_cursor()

    def notify_style_update(self) -> None:
        """Drawn lines carry their styles."""
        super().notify_style_update()
        self._drawn.clear()

    def render_line(self, y: int) -> Strip:
        """One line of the view: the header, a row, or nothing."""
        width = self.line_width
        if not self._columns:
            self._columns = self._columns_for(self.size.width)
        if y == 0:
            return self._header(width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self._ids):
            return Strip.blank(width, self.rich_style)
        key = self._key(index)
        drawn = self._drawn.get(key)
        if drawn is None:
            if len(self._drawn) > STRIPS_KEPT_MAX:
                self._drawn.clear()
            cells = self._cells(key[0], self._columns)
            drawn = self._drawn[key] = _Drawn(cells, self._row(cells, width, *key[1:]))
        return drawn.strip

    def _key(self, index: int) -> tuple[str, bool, bool]:
        row_id = self._ids[index]
        return row_id, row_id in self._marked, index == self._cursor

    def _header(self, width: int) -> Strip:
        style = self.rich_style + self.look("header")
        text = "   " + " ".join(fit(c.title, c.width, right=c.right) for c in self._columns)
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    def _row(self, cells: Sequence[Cell], width: int, marked: bool, under_cursor: bool) -> Strip:  # noqa: FBT001
        base = self.rich_style
        if marked:
            base += self.look("marked")
        if under_cursor:
            base += self.look("cursor")
        pieces = [(" ☑ " if marked else "   ", base)]
        for column, cell in zip(self._columns, cells, strict=True):
            style = base + self.look(cell.style) if cell.style and not under_cursor else base
            # The padding has the row's own style: underlines belong to the words only.
            text = fit(cell.text, column.width, right=column.right)
            words = text.strip(" ")
            before, _, after = text.partition(words) if words else ("", "", text)
            pieces += [(before, base), (words, style), (after + " ", base)]
        # What looks alike is one piece: each one costs again on its way to the terminal.
        runs = groupby((piece for piece in pieces if piece[0]), key=lambda piece: piece[1])
        segments = [Segment("".join(text for text, _ in run), style) for style, run in runs]
        return Strip(segments).adjust_cell_length(width, base)
