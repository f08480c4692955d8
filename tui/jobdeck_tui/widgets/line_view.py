"""The base of the widgets that draw line by line: named looks, and nothing wider than the view."""

from typing import ClassVar

from rich.style import Style
from textual.scroll_view import ScrollView

from jobdeck_tui.widgets.table_styles import COMPONENTS, PREFIX


class LineView(ScrollView, inherit_bindings=False):
    """A scrolling view whose lines are made by ``render_line``; keys are its screen's affair."""

    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's own name)
        super().__init__(id=id)
        self._looks: dict[str, Style] = {}

    @property
    def line_width(self) -> int:
        """Cells of a line. The bar's own are never among them, so that nothing moves when it appears."""
        return max(self.size.width - self.styles.scrollbar_size_vertical, 1)

    def look(self, name: str) -> Style:
        """The style of a look (a key of ``MARKS``, or one of the row styles)."""
        style = self._looks.get(name)
        if style is None:
            style = self._looks[name] = self.get_component_rich_style(PREFIX + name, partial=name != "row")
        return style

    def notify_style_update(self) -> None:
        """Themes and classes change every line."""
        super().notify_style_update()
        self._looks.clear()
