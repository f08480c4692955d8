"""The events of all jobs as the Events screen shows them: kept bounded, read when somebody looks.

While another screen is shown nothing is decoded: the newest events wait as they came, and most are never read.
"""

from collections import deque
from time import perf_counter
from typing import Protocol

from jobdeck_tui.client.fields import Unreadable
from jobdeck_tui.client.models import Event
from jobdeck_tui.core.event_lines import EventLines, line_of
from jobdeck_tui.core.filtered_lines import FilteredLines

EVENTS_KEPT_MAX = 10_000
WAITING_CHARACTERS_MAX = 4_000_000
"""All that wait unread, together. Of one that was read only its line is kept."""


class Told(Protocol):
    """An event as it came."""

    @property
    def size(self) -> int:
        """Its length in characters."""

    @property
    def event(self) -> Event:
        """The event itself, decoded. Raises ``Unreadable``."""


class EventFeed:
    """The newest events, their lines, and the filter between the two."""

    def __init__(self) -> None:
        self._waiting: deque[Told] = deque(maxlen=EVENTS_KEPT_MAX)
        self._waiting_characters = 0
        self.every = EventLines(EVENTS_KEPT_MAX)
        self.filtered = FilteredLines(self.every)
        self.seen = 0
        self.unreadable = 0

    @property
    def lines(self) -> EventLines:
        """The lines that are shown."""
        return self.filtered.shown

    def add(self, told: Told, now: float) -> None:
        """Takes one event in; ``now`` in Unix seconds."""
        self.seen += 1
        self._waiting_characters += told.size
        if len(self._waiting) == EVENTS_KEPT_MAX:
            self._waiting_characters -= self._waiting[0].size
        self._waiting.append(told)
        while self._waiting_characters > WAITING_CHARACTERS_MAX:
            self._read(self._take())
            self.filtered.update(now)

    @property
    def unread(self) -> int:
        """How many wait to be read."""
        return len(self._waiting)

    def read(self, now: float, within: float = float("inf")) -> None:
        """Reads what waits, oldest first, for somebody who looks at ``lines``; stops after ``within`` seconds."""
        stop = perf_counter() + within
        while self._waiting and perf_counter() < stop:
            self._read(self._take())
        self.filtered.update(now)

    def _take(self) -> Told:
        told = self._waiting.popleft()
        self._waiting_characters -= told.size
        return told

    def _read(self, told: Told) -> None:
        try:
            self.every.put(line_of(told.event))
        except Unreadable:
            self.unreadable += 1

    def filter_by(self, source: str, now: float) -> bool:
        """Shows only what matches; on a mistake the old filter stays."""
        self.read(now)
        return self.filtered.filter_by(source, now)
