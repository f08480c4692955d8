"""The events of all jobs as the Events screen shows them: kept bounded, read when somebody looks.

While another screen is shown nothing is decoded: the newest events wait as they came, and most are never read.
"""

from time import perf_counter

from jobdeck_tui.client.fields import Unreadable, parse
from jobdeck_tui.core.event_lines import EventLines, line_of
from jobdeck_tui.core.filtered_lines import FilteredLines
from jobdeck_tui.core.packed_texts import PackedTexts

EVENTS_KEPT_MAX = 10_000
WAITING_BYTES_MAX = 4_000_000
"""All that wait unread, together. Of one that was read only its line is kept."""


class EventFeed:
    """The newest events, their lines, and the filter between the two."""

    def __init__(self) -> None:
        self._waiting = PackedTexts()
        self.every = EventLines(EVENTS_KEPT_MAX)
        self.filtered = FilteredLines(self.every)
        self.seen = 0
        self.unreadable = 0

    @property
    def lines(self) -> EventLines:
        """The lines that are shown."""
        return self.filtered.shown

    def add(self, text: str, now: float) -> None:
        """Takes one event in as it came; ``now`` in Unix seconds."""
        self.seen += 1
        self._waiting.add(text)
        self._waiting.forget_beyond(EVENTS_KEPT_MAX)
        while self._waiting.bytes > WAITING_BYTES_MAX:
            self._read_oldest()
            self.filtered.update(now)

    def forget(self, now: float) -> None:
        """Begins anew: what was told is of other records. ``now`` in Unix seconds."""
        self._waiting = PackedTexts()
        self.every.clear()
        self.filtered.update(now)

    @property
    def unread(self) -> int:
        """How many wait to be read."""
        return len(self._waiting)

    def read(self, now: float, within: float = float("inf")) -> None:
        """Reads what waits, oldest first, for somebody who looks at ``lines``; stops after ``within`` seconds."""
        stop = perf_counter() + within
        while self._waiting and perf_counter() < stop:
            self._read_oldest()
        self.filtered.update(now)

    def _read_oldest(self) -> None:
        from jobdeck_tui.client import decode

        for text in self._waiting.take_oldest():
            try:
                self.every.put(line_of(decode.event(parse(text))))
            except Unreadable:
                self.unreadable += 1

    def filter_by(self, source: str, now: float) -> bool:
        """Shows only what matches; on a mistake the old filter stays."""
        self.read(now)
        return self.filtered.filter_by(source, now)
