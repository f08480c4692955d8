"""A short list to choose one thing from: a server, a saved view."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from jobdeck_tui.widgets.dialog_box import DialogBox
from jobdeck_tui.widgets.text_line import Piece, TextLine

LISTED_MAX = 12
Option = tuple[str, str]
"""A name, and what is to know about it."""


class Choice(ModalScreen[str | None]):
    """Answers with the name that was chosen; None keeps things as they are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("enter", "choose", "Choose", key_display="enter"),
        Binding("escape,q", "keep", "Keep", key_display="esc"),
    ]

    def __init__(self, asked: str, options: Sequence[Option], chosen: str = "") -> None:
        super().__init__()
        self._asked = asked
        self._options = options
        names = [name for name, _ in options]
        self._at = names.index(chosen) if chosen in names else 0

    def compose(self) -> ComposeResult:
        """The list."""
        with DialogBox():
            yield TextLine(id="asked")

    def on_mount(self) -> None:
        """Writes the list."""
        self._draw()

    def _draw(self) -> None:
        lines: list[Piece] = [(f"{self._asked}\n\n", "strong")]
        first = max(0, min(self._at - LISTED_MAX // 2, len(self._options) - LISTED_MAX))
        for number, (name, words) in enumerate(self._options[first : first + LISTED_MAX], first):
            here = number == self._at
            lines += [
                (f"{'▸' if here else ' '} {name:<16}", "reverse" if here else ""),
                (f"  {words}\n", "faint"),
            ]
        lines += [("\n enter ", "reverse"), (" choose    ", ""), ("esc", "strong"), (" keep as it is", "")]
        self.query_one("#asked", TextLine).show(lines)

    def action_move(self, step: int) -> None:
        """Goes to another one."""
        self._at = max(0, min(self._at + step, len(self._options) - 1))
        self._draw()

    def action_choose(self) -> None:
        """Takes the one under the cursor."""
        self.dismiss(self._options[self._at][0])

    def action_keep(self) -> None:
        """Leaves all as it is."""
        self.dismiss(None)
