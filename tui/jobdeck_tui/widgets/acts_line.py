"""The line above the keys: the act whose grace runs, else how the newest one ended. Hidden when quiet."""

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
    """Shows the countdown or the result, and how many more there are."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's own name)
        super().__init__(id=id)
        self._newest: tuple[int, Phase] | None = None
        self._since = float("-inf")

    def refresh_acts(self, deck: "Deck", now: float) -> None:
        """Draws the line from the acts."""
        shown = self._choose(deck, now)
        self.display = shown is not None
        if shown is None:
            return
        more = len(deck.acts.unfinished()) - (1 if shown.phase in UNFINISHED else 0)
        pieces: list[Piece] = [(f" {shown.line(now)}", LOOKS[shown.phase])]
        if more > 0:
            pieces.append((f"   and {more} more (L lists them)", "faint"))
        self.show(pieces)

    def _choose(self, deck: "Deck", now: float) -> Tracked | None:
        if graces := deck.graces():
            self._newest, self._since = (graces[-1].number, Phase.GRACE), now
            return graces[-1]
        newest = next(iter(deck.acts.history()), None)
        if newest is None:
            return None
        if self._newest != (newest.number, newest.phase):
            self._newest, self._since = (newest.number, newest.phase), now
        quiet = newest.phase not in UNFINISHED and now - self._since > RESULT_SHOWN_SECONDS
        return None if quiet else newest


UNFINISHED = frozenset({Phase.GRACE, Phase.SENT, Phase.ACCEPTED, Phase.UNKNOWN})
