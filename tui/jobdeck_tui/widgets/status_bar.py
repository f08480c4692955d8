"""The first line: where the deck looks, whether what it shows is now, and what is pending."""

from typing import TYPE_CHECKING

from jobdeck_tui.core.connection import Link
from jobdeck_tui.text.format import cells, clock
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

LINK_LOOKS = {Link.LIVE: "good", Link.CONNECTING: "faint", Link.STALE: "warn"}


STORAGE_WORDS = {
    "storage_full": "DISK FULL",
    "database_read_only": "DATABASE READ-ONLY",
    "database_locked": "DATABASE LOCKED",
    "database_damaged": "DATABASE DAMAGED",
}
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
        if deck.read_only or (deck.overview is not None and deck.overview.read_only):
            pieces.append((" READ-ONLY ", "reverse"))
        if deck.overview is not None and deck.overview.storage.trouble:
            pieces.append((f" {STORAGE_WORDS.get(deck.overview.storage.state, 'NO DATABASE')} ", "reverse"))
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
    """Says that what is shown is not now, or that no job is accepted, and why; hidden while all is well."""

    RESIZES = True

    def refresh_banner(self, deck: "Deck") -> None:
        """Shows or hides the sentence."""
        truth = deck.truth()
        words = truth.banner
        if words is not None and deck.connection.reason:
            words += f" ({deck.connection.reason})"
        storage = deck.overview.storage if deck.overview is not None else None
        if words is None and storage is not None and storage.trouble:
            words = f"No job is accepted: {storage.reason}"
        self.display = words is not None
        if words is not None:
            self.show([(f" ⚠ {words}", "bad")])
