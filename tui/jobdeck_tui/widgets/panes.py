"""Panes of which one is in view, or with room three: one at each side of it."""

from collections.abc import Iterable

from textual.containers import Horizontal
from textual.widget import Widget


class Panes(Horizontal):
    """Shows the child ``current``; ``beside`` names those that stand at its sides where they are not it."""

    def __init__(self, *children: Widget, initial: str, id: str | None = None) -> None:  # noqa: A002
        super().__init__(*children, id=id)
        self.current = initial
        self._beside: tuple[str, ...] = ()

    @property
    def in_view(self) -> tuple[str, ...]:
        """The ids of the panes that are drawn."""
        return tuple(str(pane.id) for pane in self.children if pane.display)

    def on_mount(self) -> None:
        """Shows the first one."""
        self.open_pane(self.current, self._beside)

    def open_pane(self, current: str, beside: Iterable[str] = ()) -> None:
        """Puts ``current`` in view, and those that stand beside it."""
        self.current, self._beside = current, tuple(beside)
        for pane in self.children:
            pane.display = pane.id == current or pane.id in self._beside
            pane.set_class(pane.id != current, "-side")
