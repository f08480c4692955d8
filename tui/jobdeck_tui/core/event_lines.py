"""The lines of an event log: a bounded ring that folds token chunks and knows what it dropped.

Line numbers only grow (``first`` … ``end``), so a view can stay where it is while old lines fall out.
"""

from collections import deque
from dataclasses import dataclass

from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_text import body, chunk_of, data, head, stage_of

LINES_MAX = 10_000
FOLDED_TEXT_MAX = 2000
HEARTBEAT = "job.heartbeat"
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
    name: str = ""

    @property
    def words(self) -> str:
        """The text as shown, with what was folded into it."""
        return f"({self.folded} chunks) {self.text}" if self.folded > 1 else self.text


def line_of(event: Event) -> Line:
    """The line of an event that stands for itself."""
    return Line(
        event.at,
        event.job_id,
        head(event),
        body(event),
        look(event),
        event.type,
        event.seq,
        name=event.name or "",
    )


class EventLines:
    """A ring of ``limit`` lines. Events added are of one job, in order; heartbeats show if asked for."""

    def __init__(self, limit: int = LINES_MAX) -> None:
        self.limit = limit
        self.lines: deque[Line] = deque(maxlen=limit)
        self._kept: deque[Line] = deque(maxlen=limit)
        self.end = 0
        self.last_seq = 0
        self.show_heartbeats = False
        self.changed = False

    @property
    def first(self) -> int:
        """Number of the oldest line still kept."""
        return self.end - len(self.lines)

    def line(self, number: int) -> Line:
        """A line by its number (``first`` ≤ number < ``end``)."""
        return self.lines[number - self.first]

    def add(self, event: Event) -> bool:
        """Adds one event; False when it was seen before (a stream that was resumed may repeat)."""
        if event.seq <= self.last_seq:
            return False
        self.last_seq = event.seq
        if event.type == "llm.chunk":
            self._fold(event, chunk_of(event))
        elif event.type == HEARTBEAT and not self.show_heartbeats:
            self._kept.append(line_of(event))
        else:
            self.put(line_of(event))
        return True

    def say(self, text: str, *, at: float | None = None, style: str = "notice") -> None:
        """Adds a line of the deck's own: a gap, a reconnect, an unreadable event."""
        self.put(Line(at, "", "──", text, style))

    def clear(self) -> None:
        """Forgets everything."""
        self.lines.clear()
        self._kept.clear()
        self.end = 0
        self.last_seq = 0
        self.changed = True

    def _fold(self, event: Event, chunk: str) -> None:
        call = str(event.payload.get("id") or "")
        last = self.lines[-1] if self.lines else None
        if last is not None and last.folded and last.call == call and last.job_id == event.job_id:
            last.folded += 1
            last.at, last.seq = event.at, event.seq
            last.text = (last.text + chunk)[-FOLDED_TEXT_MAX:]
            self.changed = True
            return
        self.put(
            Line(event.at, event.job_id, "llm", chunk, "faint", event.type, event.seq, folded=1, call=call)
        )

    def put(self, line: Line) -> None:
        """Adds a finished line."""
        self._kept.append(line)
        self._show(line)

    def toggle_heartbeats(self) -> None:
        """Shows all heartbeats, or hides them; numbers go on growing: no view takes one line for another."""
        self.show_heartbeats = not self.show_heartbeats
        self.lines.clear()
        for line in self._kept:
            if line.type != HEARTBEAT or self.show_heartbeats:
                self._show(line)
        self.changed = True

    def _show(self, line: Line) -> None:
        self.lines.append(line)
        self.end += 1
        self.changed = True
