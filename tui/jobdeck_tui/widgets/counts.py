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
SHORTER = {
    "running": "run",
    "assigned": "assign",
    "queued": "queue",
    "waiting": "wait",
    "backlog": "back",
    "held": "held",
    "failed": "fail",
    "expired": "expire",
    "cancelled": "cancel",
    "succeeded": "done",
}
LATE = (("overdue", "OVER DEADLINE", "over"), ("at_risk", "AT RISK", "soon"))
NO_JOB_YET = " No job is on record yet. To submit one: jobdeck submit contract_review @FILE"
ALWAYS = frozenset({"running", "queued", "waiting", "backlog", "succeeded"})


def counts_pieces(counts: Mapping[str, int], width: int) -> list[Piece]:
    """The counts as ``width`` cells hold them: with words, else without states that have no job, else with short
    words, else with signs alone; late ones are never left out.
    """
    late: list[Piece] = []
    for name, said, look in LATE:
        if counts.get(name):
            late += [(" ", ""), (f"{number(counts[name])} {said}", look)]
    there = frozenset(state for state in SHORT if counts.get(state))
    none = dict.fromkeys(SHORT, "")
    for words, states in ((SHORT, there | ALWAYS), (SHORT, there), (SHORTER, there), (none, there)):
        pieces = [
            (
                f" {state_glyph(state)} {f'{number(counts.get(state, 0))} {words[state]}'.rstrip()} ",
                state if counts.get(state) else "faint",
            )
            for state in SHORT
            if state in states
        ]
        if sum(cells(text) for text, _ in (*pieces, *late)) <= width:
            break
    return [*pieces, *late]


class Counts(TextLine):
    """Shows the counts."""

    def refresh_counts(self, counts: Mapping[str, int], *, known: bool) -> None:
        """Draws the line. Where it is ``known`` that there is no job, how one comes to be says more than zeros."""
        if known and not any(counts.get(state) for state in SHORT):
            self.show([(NO_JOB_YET, "")])
        else:
            self.show(counts_pieces(counts, self.size.width or 80))
