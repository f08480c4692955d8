"""One line for what just happened elsewhere: alerts nobody has seen, else what others do. Hidden when quiet."""

from typing import TYPE_CHECKING

from jobdeck_tui.text.format import cells, clock
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck


OTHERS_EVERY_SECONDS = 1.0
"""A line that changes more often cannot be read."""


class NewsLine(TextLine):
    """Alerts in words and counts, with the keys for them; the acts of others where there is room."""

    RESIZES = True
    _others = ""
    _others_at = float("-inf")

    def refresh_news(self, deck: "Deck", now: float) -> None:
        """Draws the line."""
        pieces: list[Piece] = []
        if words := deck.alerts.words():
            pieces = [
                (f" ⚠ {words}", "bad"),
                (f" since {clock(deck.alerts.since)}Z", "faint"),
                (f"   {deck.key('alerts')} shows them, {deck.key('acknowledge')}: seen ", "strong"),
            ]
        if not self._others or not 0 <= now - self._others_at < OTHERS_EVERY_SECONDS:
            self._others, self._others_at = deck.company.line(now), now
        if self._others:
            others = f" {self._others} "
            free = (self.size.width or 80) - sum(cells(text) for text, _ in pieces)
            if not pieces or cells(others) <= free:
                pieces.append((others, "notice"))
        self.display = bool(pieces)
        self.show(pieces)
