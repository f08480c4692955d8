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
    """A row as one or more rows of at most ``width`` cells, broken at spaces where there are any."""
    if sum(cells(text) for text, _ in row) <= width or width < 2:
        return [list(row)]
    whole = "".join(text for text, _ in row)
    indent = min(len(whole) - len(whole.lstrip(" ")), width // 2)
    rows: list[list[Piece]] = [[]]
    free = width
    for text, look in row:
        rest = text
        while rest:
            head, rest = _break(rest, free, fresh=free >= width - indent)
            if head:
                rows[-1].append((head, look))
                free -= cells(head)
            if rest:
                rows.append([(" " * indent, "")])
                free = width - indent
    return rows


def _break(text: str, free: int, *, fresh: bool) -> tuple[str, str]:
    if cells(text) <= free:
        return text, ""
    taken = cut = 0
    for cut, character in enumerate(text):  # noqa: B007 (used after the loop)
        taken += cells(character)
        if taken > free:
            break
    space = text.rfind(" ", 0, cut + 1)
    if space > 0:
        return text[:space], text[space + 1 :]
    return (text[:cut] or text[:1], text[max(cut, 1) :]) if fresh else ("", text)


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
