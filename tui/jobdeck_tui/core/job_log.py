"""One job's events: all kept, and those shown that the filter lets through; heartbeats only on request."""

import time
from collections import deque
from collections.abc import Callable

from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_lines import FOLDED_TEXT_MAX, LINES_MAX, EventLines, Line, line_of
from jobdeck_tui.core.event_text import chunk_of
from jobdeck_tui.core.filter import FilterError
from jobdeck_tui.core.filter_fields import EVENTS

HEARTBEAT = "job.heartbeat"


class JobLog(EventLines):
    """A ring of ``limit`` lines of one job, in order. Token chunks of one call are one line."""

    def __init__(self, limit: int = LINES_MAX, now: Callable[[], float] = time.time) -> None:
        """``now`` in Unix seconds, for a filter's ages."""
        super().__init__(limit)
        self._now = now
        self._kept: deque[Line] = deque(maxlen=limit)
        self._folding: Line | None = None
        self._matches: Callable[[Event, float], bool] | None = None
        self.last_seq = 0
        self.show_heartbeats = False
        self.filter_source = ""

    @property
    def total(self) -> int:
        """Lines kept, shown or not."""
        return len(self._kept)

    def add(self, event: Event) -> bool:
        """Adds one event; False when it was seen before (a stream that was resumed may repeat)."""
        if event.seq <= self.last_seq:
            return False
        self.last_seq = event.seq
        if event.type == "llm.chunk":
            self._fold(event, chunk_of(event))
            return True
        if event.type != HEARTBEAT:
            self._folding = None
        self.put(line_of(event))
        return True

    def put(self, line: Line) -> None:
        """Keeps a finished line, and shows it where nothing hides it."""
        self._kept.append(line)
        if self._passes(line):
            super().put(line)

    def _fold(self, event: Event, chunk: str) -> None:
        call, last = str(event.payload.get("id") or ""), self._folding
        if last is not None and last.call == call and not self._heartbeat_between():
            last.folded += 1
            last.at, last.seq = event.at, event.seq
            last.text = (last.text + chunk)[-FOLDED_TEXT_MAX:]
            self.changed = True
            return
        self._folding = Line(
            event.at, event.job_id, "llm", chunk, "faint", event.type, event.seq, folded=1, call=call
        )
        self.put(self._folding)

    def _heartbeat_between(self) -> bool:
        """A heartbeat in view parts what comes after it from what came before."""
        return self.show_heartbeats and bool(self._kept) and self._kept[-1].type == HEARTBEAT

    def toggle_heartbeats(self) -> None:
        """Shows all heartbeats, or hides them."""
        self.show_heartbeats = not self.show_heartbeats
        self._arrange()

    def filter_by(self, source: str) -> str:
        """Shows only what matches; answers what is wrong with the filter, and changes nothing then."""
        try:
            matches = EVENTS.compile(source)
        except FilterError as error:
            return str(error)
        self.filter_source = source.strip()
        self._matches = matches if self.filter_source else None
        self._arrange()
        return ""

    def _passes(self, line: Line) -> bool:
        if line.seq is None:
            return True  # the deck's own word on gaps and reconnects
        if line.type == HEARTBEAT and not self.show_heartbeats:
            return False
        if self._matches is None:
            return True
        said = {"said": f"{line.label} {line.words}"}
        told = Event(line.job_id, line.seq, line.type, line.at, line.name, said)
        return self._matches(told, self._now())

    def _arrange(self) -> None:
        """Shows anew what passes; line numbers go on growing, so that no view takes one line for another."""
        self.lines.clear()
        for line in self._kept:
            if self._passes(line):
                super().put(line)
        self.changed = True
