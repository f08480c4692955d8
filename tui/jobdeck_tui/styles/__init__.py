"""The deck's looks: theme variables here, rules in the ``.tcss`` files beside it."""

from pathlib import Path

HERE = Path(__file__).parent
SHEETS = [HERE / name for name in ("deck.tcss", "screens.tcss")]

# Okabe and Ito's colours, told apart with any common colour blindness; signs and words carry the meaning too.
VARIABLES = {
    "state-running": "#56b4e9",
    "state-assigned": "#0090d0",
    "state-queued": "#e69f00",
    "state-waiting": "#b8a9d9",
    "state-backlog": "#a8a8a8",
    "state-held": "#f0e442",
    "state-failed": "#ff7a45",
    "state-succeeded": "#00b386",
    "state-cancelled": "#8c8c8c",
    "state-expired": "#cc79a7",
    "cursor-ground": "#264f78",
    # Textual's own muted text is an alpha, which single lines cannot carry.
    "faint": "#93a1ad",
}
