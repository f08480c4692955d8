"""The lines above the keys: what was said, and the act whose grace runs, or how the last to end has ended.

Then what is under way; hidden when quiet. Nothing is ever drawn over the list.
"""

from typing import TYPE_CHECKING

from jobdeck_tui.core.acts import Phase
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

LOOKS = {
    Phase.GRACE: "warn",
    Phase.SENT: "",
    Phase.ACCEPTED: "",
    Phase.SEEN: "good",
    Phase.REFUSED: "bad",
    Phase.UNKNOWN: "warn",
    Phase.UNDONE: "notice",
}


class ActsLine(TextLine):
    """Shows the notice, and the countdown or the result with how many more there are."""

    RESIZES = True

    def refresh_acts(self, deck: "Deck", now: float) -> None:
        """Draws the notice and the act."""
        pieces: list[Piece] = []
        if (notice := deck.notice(now)) is not None:
            pieces.append((f" {notice.words}", notice.look))
        if (act := deck.acts.to_tell(now)) is not None:
            pieces += [("\n" if pieces else "", ""), (f" {act.line(now, deck.key)}", LOOKS[act.phase])]
            more = len(deck.acts.unfinished()) - (1 if act.phase in UNFINISHED else 0)
            if more > 0:
                pieces.append((f"   and {more} more ({deck.key('my_acts')} lists them)", "faint"))
        self.display = bool(pieces)
        self.show(pieces)


UNFINISHED = frozenset({Phase.GRACE, Phase.SENT, Phase.ACCEPTED, Phase.UNKNOWN})
