"""The last line: the keys that do something for this row, in this mode, on this screen."""

from typing import TYPE_CHECKING, cast

from jobdeck_tui.text.format import cells
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.screens.base import DeckScreen


class KeyLine(TextLine):
    """The shown bindings that are enabled now, what the row needs before the others, as many as fit; the last one
    is always there."""

    def refresh_keys(self) -> None:
        """Reads the screen's bindings again."""
        first: dict[str, tuple[str, str]] = {}
        keys: dict[str, tuple[str, str]] = {}
        screen = cast("DeckScreen", self.screen)
        if screen is not self.app.screen:
            self.show([])  # under a dialog none of them does anything
            return
        for _, binding, enabled, _ in screen.active_bindings.values():
            if binding.show and enabled and not screen.hides(binding):
                line = first if screen.puts_first(binding) else keys
                line.setdefault(binding.action, (self.app.get_key_display(binding), binding.description))
        self.show(fitting([*first.values(), *keys.values()], self.size.width or 80))


def fitting(keys: list[tuple[str, str]], width: int) -> list[Piece]:
    """As many keys as fit in ``width`` cells; the last one, help, is never left out."""
    pieces: list[Piece] = []
    free = width - (_cells(keys[-1]) if keys else 0)
    for key in keys[:-1]:
        if _cells(key) > free:
            break
        free -= _cells(key)
        pieces += _pieces(key)
    return pieces + [piece for key in keys[-1:] for piece in _pieces(key)]


def _cells(key: tuple[str, str]) -> int:
    return cells(key[0]) + cells(key[1]) + 3


def _pieces(key: tuple[str, str]) -> list[Piece]:
    return [(f" {key[0]}", "strong"), (f" {key[1]} ", "")]
