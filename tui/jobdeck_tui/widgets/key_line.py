"""The last line: the keys that do something for this row, in this mode, on this screen."""

from jobdeck_tui.text.format import cells
from jobdeck_tui.widgets.text_line import Piece, TextLine


class KeyLine(TextLine):
    """The shown bindings that are enabled now, as many as fit; the last one is always there."""

    def refresh_keys(self) -> None:
        """Reads the screen's bindings again."""
        keys: dict[str, tuple[str, str]] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and enabled:
                keys.setdefault(binding.action, (self.app.get_key_display(binding), binding.description))
        self.show(fitting(list(keys.values()), self.size.width or 80))


def fitting(keys: list[tuple[str, str]], width: int) -> list[Piece]:
    """As many keys as fit in ``width`` cells, with a sign where some were left out."""
    pieces: list[Piece] = []
    used = 0
    for key, words in keys:
        needed = cells(key) + cells(words) + 3
        if used + needed > width:
            break
        used += needed
        pieces += [(f" {key}", "strong"), (f" {words} ", "")]
    return pieces
