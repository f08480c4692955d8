"""The feed of all jobs: every stored event but token chunks, as it comes."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.core.filter_fields import EVENTS
from jobdeck_tui.core.filtered_lines import FilteredLines
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.text.format import number
from jobdeck_tui.widgets.event_log import EventLog
from jobdeck_tui.widgets.filter_line import FilterLine
from jobdeck_tui.widgets.text_line import TextLine

READ_SECONDS = 0.015
"""So long at each draw: ten thousand unread events are there within some seconds, and no key waits."""


def events_hint(key: Callable[[str], str]) -> str:
    """What may be typed, and how to go on from line to line; ``key`` gives a key by its name."""
    finds = f"{key('find.1')} {key('find.minus1')}"
    return f'type:tool name:web* age<5m !type:llm "free text"   {finds} from line to line, tab completes'


def not_found(filtered: FilteredLines, key: Callable[[str], str]) -> str:
    """Why the next line that was sought is not gone to."""
    if filtered.sought:
        return f"No other line has: {filtered.sought}"
    goes = f"{key('find.1')} and {key('find.minus1')} go from line to line"
    return f"Nothing was sought yet: {key('filter')} filters, then {goes}."


class EventsScreen(DeckScreen):
    """A log over all jobs, filtered as it comes; scrolling up stops it, End goes on."""

    TITLE_WORDS = "Events"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("f,p", "follow", "Follow, or freeze"),
        Binding("n", "find(1)", "Next line found", show=False),
        Binding("N", "find(-1)", "Line found before", show=False),
        Binding("enter", "open", "Open the newest line's job", key_display="enter"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("g,home", "roll(-1000000)", "To the oldest", show=False),
        Binding("G,end", "end", "To the end, and follow", show=False),
    ]

    def compose_body(self) -> ComposeResult:
        """A head line, the log, the filter."""
        yield TextLine(id="head")
        yield EventLog(self.deck.feed.lines, self.deck.time_words, self.deck.key, with_job=True, id="feed")
        yield FilterLine(
            self._filter_entered,
            typed=self._filter_typed,
            complete=lambda source: EVENTS.complete(source, self.deck.feed.every.lines),
            history=self.deck.filter_history("events"),
            hint=events_hint(self.deck.key),
            id="filter",
        )

    @property
    def log_view(self) -> EventLog:
        """The log."""
        return self.query_one("#feed", EventLog)

    def on_mount(self) -> None:
        """Keys go to the log."""
        self.set_focus(self.log_view)

    def flush_body(self, now: float, *, everything: bool) -> None:  # noqa: ARG002
        """Draws what came."""
        feed = self.deck.feed
        feed.read(now, READ_SECONDS)
        if feed.unread:
            self.deck.fresh = True  # the rest at the next draw: keys must not wait for it
        stopped = f"STOPPED ({self.deck.key('follow')} goes on)"
        follow = "FOLLOW" if self.log_view.following else stopped
        events = "event" if feed.seen == 1 else "events"
        words = f" {number(feed.seen)} {events} seen, {number(len(feed.lines.lines))} kept  {follow}"
        words += f"  {number(feed.unread)} being read" if feed.unread else ""
        self.query_one("#head", TextLine).show([(words, "faint")])
        self.query_one(FilterLine).refresh_line(
            feed.filtered.filter.source, len(feed.lines.lines), len(feed.every.lines)
        )
        self.log_view.flush(ages=self.deck.relative_times)

    def _filter_typed(self, source: str) -> None:
        holding, every = self.deck.feed.filtered.filter, self.deck.feed.every
        advice = holding.preview(source, every.lines, self.deck.now())
        self.query_one(FilterLine).advise(advice, holding.error)

    def _filter_entered(self, source: str) -> str:
        if self.deck.feed.filter_by(source, self.deck.now()):
            self.log_view.show(self.deck.feed.lines)
            self.flush()
        return self.deck.feed.filtered.filter.error

    def action_filter(self) -> None:
        """Opens the filter."""
        self.query_one(FilterLine).open(self.deck.feed.filtered.filter.source)

    def action_find(self, direction: int) -> None:
        """Goes to the next line that the filter used last finds, also once every line is shown again."""
        filtered, now = self.deck.feed.filtered, self.deck.now()
        if not filtered.sought or not self.log_view.find(lambda line: filtered.seeks(line, now), direction):
            self.program.tell(not_found(filtered, self.deck.key))
        self.flush()

    def action_open(self) -> None:
        """Opens the job of the line at the bottom of the view."""
        line = self.log_view.bottom_line()
        if line is not None and line.job_id:
            self.program.open_job(line.job_id)

    def action_leave(self) -> None:
        """Takes the filter away, else goes back to the jobs."""
        if self.deck.feed.filtered.filter.source:
            self.deck.feed.filter_by("", self.deck.now())
            self.log_view.show(self.deck.feed.lines)
            self.flush()
        else:
            super().action_leave()

    def action_roll(self, rows: int) -> None:
        """Scrolls."""
        self.log_view.scroll_lines(rows)

    def action_page(self, pages: int) -> None:
        """Scrolls by pages."""
        self.log_view.scroll_pages(pages)

    def action_end(self) -> None:
        """Follows."""
        self.log_view.follow()

    def action_follow(self) -> None:
        """Follows, or stops."""
        self.log_view.toggle_follow()
