"""The looks that text can have: what pieces, cells and lines name, in the words of Textual's styles."""

from jobdeck_tui.client.models import STATES

LOOKS = {
    **{state: f"$state-{state}" for state in STATES},
    "held": "bold $state-held",
    "failed": "bold $state-failed",
    "": "",
    "header": "bold underline $faint",
    "cursor": "bold $foreground on $cursor-ground",
    "marked": "bold",
    "soon": "bold $state-queued",
    "over": "bold underline $state-failed",
    "faint": "$faint",
    "strong": "bold",
    "warn": "bold $state-queued",
    "good": "$state-succeeded",
    "bad": "bold $state-failed",
    "notice": "italic $state-held",
    "reverse": "reverse",
}
WITHOUT_COLOUR = {"cursor": "reverse", "faint": "dim"}
"""Where a line's look is told by its colour alone."""
