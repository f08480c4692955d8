"""The frame of a dialog, as high as what is in it."""

from textual.containers import VerticalScroll


class DialogBox(VerticalScroll, can_focus=False):
    """Where the terminal has too few rows for a dialog, its end is in sight: the answers stand there."""

    def __init__(self) -> None:
        super().__init__(classes="dialog")

    def on_resize(self) -> None:
        """Another room: the end again."""
        self.show_end()

    def show_end(self) -> None:
        """Brings the end into sight, once what was written last has its place."""
        self.call_after_refresh(self.scroll_end, animate=False)
