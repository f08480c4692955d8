"""The base of the widgets that draw line by line: named looks, and nothing wider than the view."""

from rich.style import Style as RichStyle
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.style import Style

from jobdeck_tui.widgets.table_styles import LOOKS, WITHOUT_COLOUR


class LineView(ScrollView, inherit_bindings=False):
    """A scrolling view whose lines are made by ``render_line``; keys are its screen's affair."""

    ALLOW_SELECT = False

    virtual_size = Reactive(Size(0, 0))
    """Unlike a widget's, without a layout of the screen at each change: see ``hold_lines``."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's own name)
        super().__init__(id=id)
        self._looks: dict[str, RichStyle] = {}

    @property
    def line_width(self) -> int:
        """Cells of a line. The bar's own are never among them, so that nothing moves when it appears."""
        return max(self.size.width - self.styles.scrollbar_size_vertical, 1)

    def hold_lines(self, count: int) -> None:
        """Says how many lines there are now.

        The screen is laid out only where the scrollbar comes or goes, or the view is as high as its lines.
        """
        size = Size(self.line_width, count)
        if size == self.virtual_size:
            return
        self.virtual_size = size
        if self.styles.is_auto_height or (count > self.size.height) != self.show_vertical_scrollbar:
            self.refresh(layout=True)
        elif self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = count

    def look(self, name: str) -> RichStyle:
        """The style of a look (a key of ``LOOKS``), to be laid over the view's own ``rich_style``.

        Textual's component classes would say the same in its style sheet, and each of them cost a node whose rules
        are looked up again for every view at every change of class or focus.
        """
        style = self._looks.get(name)
        if style is None:
            plain = WITHOUT_COLOUR.get(name) if self.app.no_color else None
            style = self._looks[name] = Style.parse(plain or LOOKS[name]).rich_style
        return style

    def notify_style_update(self) -> None:
        """Themes and classes change every line."""
        super().notify_style_update()
        self._looks.clear()
