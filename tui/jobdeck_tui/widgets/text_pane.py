"""A body of text of any length: rows of pieces, wrapped at the pane's width, drawn only where in view."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.strip import Strip

from jobdeck_tui.text.format import cells
from jobdeck_tui.widgets.line_view import LineView
from jobdeck_tui.widgets.text_line import Piece

Row = Sequence[Piece]
ROWS_MAX = 50_000
SIDE_STEP = 20


def wrapped(row: Row, width: int) -> list[list[Piece]]:
    """A row as one or more rows of at most ``width`` cells, broken at spaces where there are any.

    It goes on below the beginning of the piece that was broken, in the left half: what is a column stays one.
    """
    if width < 2 or sum(len(text) for text, _ in row) <= width // 2:  # no sign takes more than two cells
        return [list(row)]
    whole = "".join(text for text, _ in row)
    indent = min(len(whole) - len(whole.lstrip(" ")), width // 2)
    rows: list[list[Piece]] = [[]]
    free = width
    for text, look in row:
        column = width - free + len(text) - len(text.lstrip(" "))
        if len(rows) == 1 and column <= width // 2:
            indent = max(indent, column)
        at = 0
        while at < len(text):
            end, begin = _break(text, at, free, fresh=free >= width - indent)
            if end > at:
                rows[-1].append((text[at:end], look))
                free -= cells(text[at:end])
            at = begin
            if at < len(text):
                rows.append([(" " * indent, "")])
                free = width - indent
    return rows


def _break(text: str, at: int, free: int, *, fresh: bool) -> tuple[int, int]:
    """Where what begins ``at`` ends in so many free cells, and where the next row begins."""
    end = _end(text, at, free)
    if end == len(text):
        return end, end
    space = text.rfind(" ", at, end + 1)
    if space > at:
        return space, space + 1
    end = max(end, at + 1) if fresh else at
    return end, end


def _end(text: str, at: int, free: int) -> int:
    """How far the cells reach; a line of a megabyte is looked at once, not once for each of its rows."""
    if text.isascii():
        return min(at + free, len(text))
    for end in range(at, len(text)):
        free -= cells(text[end])
        if free < 0:
            return end
    return len(text)


class TextPane(LineView, can_focus=True):
    """Shows rows; scrolls by keys and wheel; keeps its place when the rows change."""

    def __init__(self, *, id: str | None = None, can_focus: bool = True) -> None:  # noqa: A002
        super().__init__(id=id)
        self.can_focus = can_focus
        self._rows: tuple[tuple[Piece, ...], ...] = ()
        self._drawn: list[list[Piece]] = []
        self._wrapping = True
        self._side = 0

    def show(self, rows: Iterable[Row]) -> None:
        """Shows these rows from now on; the first ``ROWS_MAX`` of them."""
        new = tuple(tuple(row) for row in rows)[:ROWS_MAX]
        if new != self._rows:
            self._rows = new
            self._layout()

    def show_text(self, text: str) -> None:
        """Shows plain text of several lines."""
        self.show([[(line, "")] for line in text.split("\n")])

    @property
    def plain(self) -> str:
        """All rows as text."""
        return "\n".join("".join(text for text, _ in row) for row in self._rows)

    def scroll_rows(self, count: int) -> None:
        """Moves the view by some rows."""
        self.scroll_to(y=self.scroll_offset.y + count, animate=False, force=True)

    def toggle_wrap(self) -> None:
        """Wraps long rows at the pane's width, or lets them go on to the right."""
        self._wrapping, self._side = not self._wrapping, 0
        self._layout()

    def shift(self, steps: int) -> None:
        """Moves rows that are not wrapped sideways."""
        if not self._wrapping:
            self._side = max(0, self._side + steps * SIDE_STEP)
            self.refresh()

    def show_row(self, row: int) -> None:
        """Scrolls as far as needed to see a row that was not wrapped."""
        top = self.scroll_offset.y
        if not top <= row < top + self.size.height:
            self.scroll_to(y=row if row < top else row - self.size.height + 1, animate=False, force=True)

    def _layout(self) -> None:
        width = self.line_width
        if self._wrapping:
            self._drawn = [part for row in self._rows for part in wrapped(row, width)]
        else:
            self._drawn = [list(row) for row in self._rows]
        self.hold_lines(len(self._drawn))
        self.refresh()

    def on_resize(self) -> None:
        """Wraps at the new width."""
        self._layout()

    def render_line(self, y: int) -> Strip:
        """One line of the view."""
        base = self.rich_style
        number = self.scroll_offset.y + y
        if number >= len(self._drawn):
            return Strip.blank(self.line_width, base)
        segments = [
            Segment(text, base + self.look(look) if look else base) for text, look in self._drawn[number]
        ]
        strip = Strip(segments)
        if self._side:
            strip = strip.crop(self._side)
        return strip.adjust_cell_length(self.line_width, base)
