"""What is said beside the filter of how the job list stands: its order, marks, range and freeze."""

from collections.abc import Iterator

from jobdeck_tui.deck import Deck
from jobdeck_tui.widgets.text_line import Piece


def list_words(deck: Deck) -> Iterator[Piece]:
    """The words, nothing of what is as it is at first."""
    shown = deck.job_list
    if shown.only is not None:
        yield f" only the {len(shown.only)} that alerted, esc shows all ", "reverse"
    if marks := len(deck.selection):
        yield f" {marks} marked ", "strong"
    if deck.selection.anchor is not None:
        yield f" range: move, then {deck.key('range')} ", "warn"
    if shown.sort_column != "risk" or shown.reverse:
        yield f" by {shown.sort_column}{' reversed' if shown.reverse else ''} ", "notice"
    if shown.server_list is not None:
        yield f" {shown.server_list.words(shown.sort_column)} ", "notice"
    if shown.frozen:
        yield f" frozen, {shown.changes_while_frozen} changes since ", "warn"
