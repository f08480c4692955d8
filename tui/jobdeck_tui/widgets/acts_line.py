"""The lines above the keys: what was said, and the act whose grace runs, or how the last to end has ended.

Then what is under way; hidden when quiet. Nothing is ever drawn over the list.
"""

from typing import TYPE_CHECKING

from jobdeck_tui.core.acts import Phase
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

PHASE_LOOKS = {
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
        if (notice := deck.notice()) is not None:
            pieces.append((f" {notice.words}", notice.look))
        if (act := deck.acts.to_tell(now)) is not None:
            pieces += [("\n" if pieces else "", ""), (f" {act.line(now, deck.key)}", PHASE_LOOKS[act.phase])]
            more = len(deck.acts.unfinished()) - deck.acts.is_open(act.number)
            if more > 0:
                pieces.append((f"   and {more} more ({deck.key('my_acts')} lists them)", "faint"))
        self.display = bool(pieces)
        self.show(pieces)
