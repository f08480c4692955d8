"""The lines of an event log: a bounded ring that knows what it dropped.

Line numbers only grow (``first`` … ``end``), so a view can stay where it is while old lines fall out.
"""

from collections import deque
from dataclasses import dataclass

from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_text import body, data, head, stage_of

LINES_MAX = 10_000
FOLDED_TEXT_MAX = 2000
NOTICE_LOOKS = {
    "recovered": "warn",
    "expired": "expired",
    "held": "held",
    "retry": "warn",
    "resumed": "good",
    "granted": "good",
}


def look(event: Event) -> str:
    """How an event stands out: what went wrong, what was decided, where a stage begins and ends."""
    if event.type == "job.update":
        return NOTICE_LOOKS.get(event.name or "", "notice")
    if event.type == "job.error" or (event.type == "tool.end" and "failed:" in body(event)):
        return "failed"
    if event.type.startswith("job.cancel"):
        return "cancelled"
    if event.type.startswith("workflow."):
        if stage_of(event) is None:
            return "strong"
        return "running" if event.type.endswith("start") else "succeeded"
    if event.type == "artifact.update" and data(event).get("type") == "output":
        return "good"
    return ""


@dataclass(slots=True)
class Line:
    """One shown line. ``folded`` counts the chunks in it (0: an event of its own)."""

    at: float | None
    job_id: str
    label: str
    text: str
    style: str = ""
    type: str = ""
    seq: int | None = None
    folded: int = 0
    call: str = ""
    name: str | None = None

    @property
    def words(self) -> str:
        """The text as shown, with what was folded into it."""
        return f"({self.folded} chunks) {self.text}" if self.folded > 1 else self.text


def line_of(event: Event) -> Line:
    """The line of an event that stands for itself."""
    words, kind = body(event), event.type
    return Line(event.at, event.job_id, head(event), words, look(event), kind, event.seq, name=event.name)


class EventLines:
    """A ring of ``limit`` lines."""

    def __init__(self, limit: int = LINES_MAX) -> None:
        self.lines: deque[Line] = deque(maxlen=limit)
        self.end = 0
        self.changed = False

    @property
    def first(self) -> int:
        """Number of the oldest line still kept."""
        return self.end - len(self.lines)

    def line(self, number: int) -> Line:
        """A line by its number (``first`` ≤ number < ``end``)."""
        return self.lines[number - self.first]

    def say(self, text: str, *, at: float | None = None, style: str = "notice") -> None:
        """Adds a line of the deck's own: a gap, a reconnect, an unreadable event."""
        self.put(Line(at, "", "──", text, style))

    def clear(self) -> None:
        """Forgets everything."""
        self.lines.clear()
        self.end = 0
        self.changed = True

    def put(self, line: Line) -> None:
        """Adds a finished line."""
        self.lines.append(line)
        self.end += 1
        self.changed = True
