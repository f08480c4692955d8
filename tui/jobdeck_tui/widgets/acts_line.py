"""The lines above the keys: what was said, and the act whose grace runs, or how the last to end has ended.

Then what is under way; hidden when quiet. Nothing is ever drawn over the list.
"""

from typing import TYPE_CHECKING

from jobdeck_tui.core.acts import Phase, Tracked
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

RESULT_SHOWN_SECONDS = 8.0
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

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's own name)
        super().__init__(id=id)
        self._newest: tuple[int, Phase] | None = None
        self._since = float("-inf")

    def refresh_acts(self, deck: "Deck", now: float) -> None:
        """Draws the notice and the act."""
        pieces: list[Piece] = []
        if (notice := deck.notice(now)) is not None:
            pieces.append((f" {notice.words}", notice.look))
        if (act := self._choose(deck, now)) is not None:
            pieces += [("\n" if pieces else "", ""), (f" {act.line(now, deck.key)}", LOOKS[act.phase])]
            more = len(deck.acts.unfinished()) - (1 if act.phase in UNFINISHED else 0)
            if more > 0:
                pieces.append((f"   and {more} more ({deck.key('my_acts')} lists them)", "faint"))
        self.display = bool(pieces)
        self.show(pieces)

    def _choose(self, deck: "Deck", now: float) -> Tracked | None:
        if graces := deck.graces():
            self._newest, self._since = (graces[-1].number, Phase.GRACE), now
            return graces[-1]
        newest = deck.acts.newest
        if newest is None:
            return None
        if self._newest != (newest.number, newest.phase):
            self._newest, self._since = (newest.number, newest.phase), now
        if newest.phase not in UNFINISHED and now - self._since <= RESULT_SHOWN_SECONDS:
            return newest
        return next(reversed(deck.acts.unfinished()), None)


UNFINISHED = frozenset({Phase.GRACE, Phase.SENT, Phase.ACCEPTED, Phase.UNKNOWN})
