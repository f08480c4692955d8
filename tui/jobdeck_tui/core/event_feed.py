"""The events of all jobs as the Events screen shows them: kept bounded and without their payloads."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_lines import EventLines, Line, line_of
from jobdeck_tui.core.filter import FilterError
from jobdeck_tui.core.filter_fields import EVENTS

EVENTS_KEPT_MAX = 2_000


class EventFeed:
    """The newest events, their lines, and the filter between the two."""

    def __init__(self) -> None:
        self._kept: deque[tuple[Event, Line]] = deque(maxlen=EVENTS_KEPT_MAX)
        self._matches: Callable[[Event, float], bool] | None = None
        self.lines = EventLines(EVENTS_KEPT_MAX)
        self.filter_source = ""
        self.filter_error = ""
        self.seen = 0

    def add(self, event: Event, now: float) -> None:
        """Takes one event in; ``now`` in Unix seconds. A payload can be large: only its line is kept."""
        self.seen += 1
        line = line_of(event)
        slim = replace(event, payload={"said": line.text})
        self._kept.append((slim, line))
        if self._matches is None or self._matches(slim, now):
            self.lines.put(line)

    def filter_by(self, source: str, now: float) -> bool:
        """Shows only what matches; on a mistake the old filter stays, ``filter_error`` says what is wrong."""
        try:
            matches = EVENTS.compile(source)
        except FilterError as error:
            self.filter_error = str(error)
            return False
        self.filter_source, self.filter_error = source.strip(), ""
        self._matches = matches if self.filter_source else None
        self.lines.clear()
        for event, line in self._kept:
            if matches(event, now):
                self.lines.put(line)
        return True
