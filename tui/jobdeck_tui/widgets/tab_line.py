"""A line of tabs: their names, and which one is open without any colour."""

from collections.abc import Iterator, Mapping

from jobdeck_tui.text.format import cells
from jobdeck_tui.widgets.text_line import Piece, TextLine


class TabLine(TextLine):
    """Shows names with short facts; the open one is reversed."""

    def show_tabs(self, tabs: Mapping[str, str], opened: str, end: str, short_end: str) -> None:
        """``tabs`` maps each name to the fact beside it; ``end``, or what is short for it, is never left out."""
        self.show(fitting(tabs, opened, (end, short_end), self.size.width or 80))


def fitting(tabs: Mapping[str, str], opened: str, ends: tuple[str, str], width: int) -> list[Piece]:
    """The widest form that has room for one of ``ends``; the last one is the open tab alone."""
    forms = list(_forms(tabs, opened))
    for pieces, end in ((forms[0], ends[0]), *((form, ends[1]) for form in forms)):
        if sum(cells(text) for text, _ in pieces) + cells(end) + 1 <= width:
            break
    return [*pieces, (f" {end}", "faint")]


def _forms(tabs: Mapping[str, str], opened: str) -> Iterator[list[Piece]]:
    names = list(tabs)
    short = {name: fact if name == opened or fact.endswith("?") else "" for name, fact in tabs.items()}
    for facts, gap in ((tabs, " "), (tabs, ""), (short, "")):
        tab = [(_words(name, facts[name]), "reverse" if name == opened else "") for name in names]
        yield [piece for one in tab for piece in (one, (gap, ""))]
    place = f" tab {names.index(opened) + 1} of {len(names)}"
    yield [(_words(opened, tabs[opened]), "reverse"), (place, "")]


def _words(name: str, fact: str) -> str:
    return f" {name.capitalize()} {fact}".rstrip() + " "
