"""A line of tabs: their names, and which one is open without any colour."""

from collections.abc import Mapping

from jobdeck_tui.widgets.text_line import Piece, TextLine


class TabLine(TextLine):
    """Shows names with short facts; the open one is reversed."""

    def show_tabs(self, tabs: Mapping[str, str], opened: str, right: str = "") -> None:
        """``tabs`` maps each name to the fact beside it; ``right`` stands at the end of the line."""
        pieces: list[Piece] = []
        for name, fact in tabs.items():
            words = f" {name.capitalize()} {fact}".rstrip() + " "
            pieces += [(words, "reverse" if name == opened else ""), (" ", "")]
        self.show([*pieces, (f"  {right}", "faint")])
