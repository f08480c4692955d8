"""The names of the styles a line can have; their looks are in ``styles/lines.tcss``."""

from jobdeck_tui.client.models import STATES

PREFIX = "line--"
NAMES = (
    *STATES,
    "row",
    "header",
    "cursor",
    "marked",
    "soon",
    "over",
    "faint",
    "strong",
    "warn",
    "good",
    "bad",
    "notice",
    "reverse",
)
COMPONENTS = {PREFIX + name for name in NAMES}

MARKS = {
    **{state: f"$state-{state}" for state in STATES},
    "": "",
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
"""The same looks for single-line widgets, whose text is ``Content``."""
