"""The second line: how many jobs are in each state, and how many are late."""

from collections.abc import Mapping

from jobdeck_tui.text.format import cells, number, state_glyph
from jobdeck_tui.widgets.text_line import Piece, TextLine

SHORT = {
    "running": "running",
    "assigned": "assigned",
    "queued": "queued",
    "waiting": "waiting",
    "backlog": "backlog",
    "held": "held",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
    "succeeded": "done",
}
LATE = (("overdue", "OVER DEADLINE", "over"), ("at_risk", "AT RISK", "soon"))
ALWAYS = frozenset({"running", "queued", "waiting", "backlog", "succeeded"})


def counts_pieces(counts: Mapping[str, int], width: int) -> list[Piece]:
    """The counts as ``width`` cells hold them: with words, else with signs; late ones are never left out."""
    shown = [(state, counts.get(state, 0)) for state in SHORT if counts.get(state) or state in ALWAYS]
    late: list[Piece] = []
    for name, said, look in LATE:
        if counts.get(name):
            late += [(" ", ""), (f"{number(counts[name])} {said}", look)]
    for words in (True, False):
        pieces: list[Piece] = []
        for state, count in shown:
            label = f" {SHORT[state]}" if words else ""
            pieces.append((f" {state_glyph(state)} {number(count)}{label} ", state if count else "faint"))
        if sum(cells(text) for text, _ in (*pieces, *late)) <= width:
            break
    return [*pieces, *late]


class Counts(TextLine):
    """Shows the counts."""

    def refresh_counts(self, counts: Mapping[str, int]) -> None:
        """Draws the line."""
        self.show(counts_pieces(counts, self.size.width or 80))
