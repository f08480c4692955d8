"""A log's lines, and the ones a filter leaves of them: kept up to date as lines come."""

from jobdeck_tui.core.event_lines import EventLines, Line
from jobdeck_tui.core.filter_fields import EVENTS
from jobdeck_tui.core.row_filter import RowFilter


class FilteredLines:
    """``shown`` is the whole ring without a filter, else a ring of the lines that match."""

    def __init__(self, every: EventLines) -> None:
        self._every = every
        self._next = every.end
        self._sought: RowFilter[Line] = RowFilter(EVENTS)
        self.filter: RowFilter[Line] = RowFilter(EVENTS)
        self.shown = every

    def filter_by(self, source: str, now: float) -> bool:
        """Shows only what matches; on a mistake the old filter stays, and ``filter.error`` says what is wrong."""
        if not self.filter.take(source):
            return False
        if not self.filter.source:
            self.shown = self._every
            return True
        self._sought.take(source)
        self.shown = EventLines(self._every.limit)
        self._next = self._every.first
        self.update(now)
        self.shown.changed = True
        return True

    def update(self, now: float) -> None:
        """Takes in the lines that came; ``now`` in Unix seconds."""
        every, shown = self._every, self.shown
        if shown is every:
            return
        if every.end < self._next:  # forgotten as a whole
            shown.clear()
            self._next = every.first
        shown.changed |= every.changed  # the last line may have grown
        every.changed = False
        for number in range(max(self._next, every.first), every.end):
            line = every.line(number)
            matches = self.filter.matches(line, now)
            if matches:
                shown.put(line)
            elif line.folded and number == every.end - 1:  # it may grow into one that matches
                self._next = number
                return
        self._next = every.end

    @property
    def sought(self) -> str:
        """The filter used last: what to go on to from line to line once every line is shown again."""
        return self._sought.source

    def seeks(self, line: Line, now: float) -> bool:
        """Whether a line matches the filter used last."""
        return self._sought.matches(line, now)
