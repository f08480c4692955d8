"""The first line: where the deck looks, whether what it shows is now, and what is pending."""

from typing import TYPE_CHECKING

from jobdeck_tui.core.connection import Link
from jobdeck_tui.text.format import age, cells, clock, fit
from jobdeck_tui.widgets.text_line import Piece, TextLine

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

PROGRAM = " jobdeck "
WIDE_FROM_CELLS = 110
SERVER_CELLS_MIN = 8
"""Of a long name of a server so much is left: how fresh all is, and what stands in the way, counts more."""
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
        truth, width = deck.truth(), self.size.width or 80
        badge: list[Piece] = [(f" {deck.badge} ", "reverse")] if deck.badge else []
        rest: list[Piece] = [(f" {truth.text} ", LINK_LOOKS.get(truth.link, "bad"))]
        if truth.link is Link.CONNECTING and deck.start_words:
            rest.append((f" {deck.start_words} ", "faint"))
        rest += _server_badges(deck)
        rest += _own_badges(deck)
        if deck.overview is not None and deck.overview.streams > 1 and width >= WIDE_FROM_CELLS:
            rest.append((f" {deck.overview.streams} streams open ", "faint"))
        used = sum(cells(text) for text, _ in (*badge, *rest)) + len(PROGRAM) + 2
        name = fit(deck.server_words, max(SERVER_CELLS_MIN, min(cells(deck.server_words), width - used)))
        used += cells(name)
        ends = (f"{screen_words}  {clock(now)}Z ", f"{clock(now)}Z ", "")
        end = next(words for words in ends if used + cells(words) <= width or not words)
        free = (" " * max(width - used - cells(end), 0), "")
        self.show([(PROGRAM, "strong"), (f" {name} ", ""), *badge, *rest, free, (end, "faint")])


def _own_badges(deck: "Deck") -> list[Piece]:
    """What this deck is about, and how its clock and the server's differ."""
    pieces: list[Piece] = []
    if deck.fuse.left() is not None:
        pieces.append((" DRILL ARMED ", "reverse"))
    if pending := len(deck.acts.unfinished()):
        pieces.append((f" {pending} pending ", "warn"))
    if deck.job_list.frozen:
        pieces.append((f" FROZEN +{deck.job_list.changes_while_frozen} ", "reverse"))
    if apart := deck.clock.apart:
        pieces.append((f" clock {'+' if apart > 0 else '-'}{age(abs(apart))} ", "warn"))
    if unreadable := deck.unreadable + deck.feed.unreadable:
        pieces.append((f" {unreadable} unreadable ", "warn"))
    return pieces


def _server_badges(deck: "Deck") -> list[Piece]:
    """What stands in the way of acts, or of jobs."""
    pieces: list[Piece] = []
    seen = deck.overview
    if deck.read_only or (seen is not None and seen.read_only):
        pieces.append((" READ-ONLY ", "reverse"))
    if seen is not None and seen.storage.trouble:
        pieces.append((f" {STORAGE_WORDS.get(seen.storage.state, 'NO DATABASE')} ", "reverse"))
    if seen is not None and seen.scheduler.state in SCHEDULER_TROUBLE:
        pieces.append((f" SCHEDULER {seen.scheduler.state.upper()} ", "reverse"))
    return pieces


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
