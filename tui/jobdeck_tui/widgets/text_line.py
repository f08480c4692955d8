"""A widget of a few plain lines: pieces of sanitised text, each with the name of its look."""

from collections.abc import Iterable

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions
from textual.widgets import Static

from jobdeck_tui.text.format import cells
from jobdeck_tui.widgets.table_styles import LOOKS

Piece = tuple[str, str]
"""Text and the name of its look (a key of ``LOOKS``)."""


class _Unselected(Content):
    """Text that nobody selects with the mouse.

    Of text that can be, Textual writes each piece's place into its style: then no style is like another, and none
    is ever found in a cache again.
    """

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """The lines as they are, where they have room."""
        lines = self.split("\n", allow_blank=True)
        if any(line.cell_length > width for line in lines):
            return super().render_strips(width, height, style, options)
        return [
            Strip(
                [
                    Segment(text, (style + look).rich_style)
                    for text, look in line.render(style, end="", parse_style=options.get_style)
                ],
                line.cell_length,
            )
            for line in lines[:height]
        ]


def content(pieces: Iterable[Piece]) -> Content:
    """The pieces as Textual's text: never parsed as markup."""
    assembled = Content.assemble(*((text, LOOKS[look]) for text, look in pieces))
    return _Unselected(assembled.plain, list(assembled.spans))


class TextLine(Static):
    """Shows pieces; draws again only when they changed."""

    ALLOW_SELECT = False
    RESIZES = False
    """Whether other text may need other room; a layout of the screen costs more than the line."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__("", markup=False, id=id, classes=classes)
        self._shown: tuple[Piece, ...] = ()

    def show(self, pieces: Iterable[Piece]) -> None:
        """Shows these pieces from now on."""
        new = tuple(pieces)
        if new != self._shown:
            stays = not self.RESIZES or (self._takes_one_row(self._shown) and self._takes_one_row(new))
            self._shown = new
            self.update(content(new), layout=not stays)

    def _takes_one_row(self, pieces: Iterable[Piece]) -> bool:
        text = "".join(text for text, _ in pieces)
        return bool(text) and "\n" not in text and cells(text) <= self.size.width
