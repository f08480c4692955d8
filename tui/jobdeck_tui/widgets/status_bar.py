"""The first line: where the deck looks, whether what it shows is now, and what is pending."""

from typing import TYPE_CHECKING

from jobdeck_tui.core.connection import Link
from jobdeck_tui.text.format import cells, clock
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

LINK_LOOKS = {Link.LIVE: "good", Link.CONNECTING: "faint", Link.STALE: "warn"}


SCHEDULER_TROUBLE = frozenset({"suspect", "lost", "starting"})


class StatusBar(TextLine):
    """Connection, screen, what is armed or pending, and the clock at the right."""

    def refresh_bar(self, deck: "Deck", now: float, screen_words: str) -> None:
        """Draws the line from what the deck knows."""
        truth = deck.truth()
        pieces: list[Piece] = [
            (" jobdeck ", "strong"),
            (f" {deck.server_words} ", ""),
            (f" {truth.text} ", LINK_LOOKS.get(truth.link, "bad")),
        ]
        if truth.link is Link.CONNECTING and deck.start_words:
            pieces.append((f" {deck.start_words} ", "faint"))
        if deck.overview is not None and deck.overview.read_only:
            pieces.append((" READ-ONLY ", "reverse"))
        if deck.overview is not None and deck.overview.scheduler.state in SCHEDULER_TROUBLE:
            pieces.append((f" SCHEDULER {deck.overview.scheduler.state.upper()} ", "reverse"))
        if deck.badge:
            pieces.append((f" {deck.badge} ", "reverse"))
        if deck.armed_left() is not None:
            pieces.append((" DRILL ARMED ", "reverse"))
        if pending := len(deck.acts.unfinished()):
            pieces.append((f" {pending} pending ", "warn"))
        if deck.job_list.frozen:
            pieces.append((f" FROZEN +{deck.job_list.changes_while_frozen} ", "reverse"))
        if unreadable := deck.unreadable + deck.feed.unreadable:
            pieces.append((f" {unreadable} unreadable ", "warn"))
        used = sum(cells(text) for text, _ in pieces)
        ends = (f"{screen_words}  {clock(now)}Z ", f"{clock(now)}Z ", "")
        end = next(words for words in ends if used + cells(words) <= (self.size.width or 80) or not words)
        free = (self.size.width or 80) - used - cells(end)
        self.show([*pieces, (" " * max(free, 0), ""), (end, "faint")])


class Banner(TextLine):
    """Says that what is shown is not now, and why; hidden while it is."""

    RESIZES = True

    def refresh_banner(self, deck: "Deck") -> None:
        """Shows or hides the sentence."""
        truth = deck.truth()
        words = truth.banner
        self.display = words is not None
        if words is not None:
            reason = f" ({deck.connection.reason})" if deck.connection.reason else ""
            self.show([(f" ⚠ {words}{reason}", "bad")])
