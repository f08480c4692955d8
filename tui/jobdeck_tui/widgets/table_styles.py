"""The names of the styles a line can have; their looks are in ``styles/lines.tcss``."""

PREFIX = "line--"
STATES = (
    "backlog",
    "waiting",
    "queued",
    "assigned",
    "running",
    "held",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
)
NAMES = (*STATES, "row", "header", "cursor", "marked", "soon", "over", "faint", "strong", "warn", "good", "notice")
COMPONENTS = {PREFIX + name for name in NAMES}
