"""The lines of a log, and the view that follows them or stands still."""

from collections.abc import Callable

from jobdeck_tui.core.event_lines import EventLines, Line
from jobdeck_tui.styles import SHEETS, VARIABLES
from jobdeck_tui.text.format import clock
from jobdeck_tui.widgets.event_log import EventLog
from textual.app import App, ComposeResult

from .deck_driver import an_event, in_a_deck


def chunk(seq: int, text: str, call: str = "call-1") -> object:
    return an_event(seq, "llm.chunk", id=call, data={"chunk": text})


def test_token_chunks_of_one_call_fold_into_one_line() -> None:
    lines = EventLines()
    for seq, text in enumerate(("The ", "licence ", "is MIT."), start=1):
        lines.add(chunk(seq, text))
    lines.add(chunk(4, "Other", call="call-2"))
    assert [line.words for line in lines.lines] == ["(3 chunks) The licence is MIT.", "Other"]


def test_an_event_seen_twice_is_shown_once() -> None:
    lines = EventLines()
    assert lines.add(an_event(1))
    assert not lines.add(an_event(1))
    assert len(lines.lines) == 1


def test_the_ring_keeps_its_newest_lines_and_numbers_never_go_back() -> None:
    lines = EventLines(limit=10)
    for seq in range(1, 26):
        lines.add(an_event(seq))
    assert (lines.first, lines.end) == (15, 25)
    assert lines.line(15).seq == 16


def test_heartbeats_are_hidden_until_asked_for() -> None:
    lines = EventLines()
    lines.add(an_event(1, "job.heartbeat"))
    lines.add(chunk(2, "on "))
    lines.add(an_event(3, "job.heartbeat"))
    lines.add(chunk(4, "and on"))
    assert [line.words for line in lines.lines] == ["(2 chunks) on and on"]
    lines.toggle_heartbeats()
    assert [line.seq for line in lines.lines] == [1, 4, 3], "those from before, too"
    lines.toggle_heartbeats()
    assert len(lines.lines) == 1


class LogApp(App[None]):
    CSS_PATH = SHEETS

    def __init__(self, lines: EventLines) -> None:
        super().__init__()
        self.lines = lines

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLES

    def compose(self) -> ComposeResult:
        yield EventLog(self.lines, clock, str)


def shown(log: EventLog) -> list[str]:
    return [log.render_line(y).text.strip() for y in range(log.size.height)]


@in_a_deck
async def test_scrolling_up_really_stops_the_log_and_end_follows_again() -> None:
    lines = EventLines()
    for seq in range(1, 101):
        lines.add(an_event(seq, data={"input": {"n": seq}}))
    async with LogApp(lines).run_test(size=(80, 10)) as pilot:
        log = pilot.app.query_one(EventLog)
        log.flush()
        assert '"n": 100' in shown(log)[-1]
        log.scroll_lines(-5)
        stood = shown(log)
        for seq in range(101, 138):
            lines.add(an_event(seq, data={"input": {"n": seq}}))
        log.flush()
        await pilot.pause()
        assert shown(log)[:-1] == stood[:-1]
        assert shown(log)[-1] == "▼ 37 new (follow to follow)"
        log.follow()
        assert '"n": 137' in shown(log)[-1]


@in_a_deck
async def test_a_stopped_log_stands_while_the_ring_turns_under_it() -> None:
    lines = EventLines(limit=50)
    for seq in range(1, 51):
        lines.add(an_event(seq, data={"input": {"n": seq}}))
    async with LogApp(lines).run_test(size=(80, 10)) as pilot:
        log = pilot.app.query_one(EventLog)
        log.flush()
        log.scroll_lines(-5)
        stood = shown(log)
        for seq in range(51, 61):
            lines.add(an_event(seq, data={"input": {"n": seq}}))
        log.flush()
        await pilot.pause()
        assert shown(log)[:-1] == stood[:-1]


def has(text: str) -> Callable[[Line], bool]:
    return lambda line: text in line.words


@in_a_deck
async def test_a_stopped_log_keeps_its_place_and_its_sideways_offset_when_heartbeats_come_and_go() -> None:
    lines = EventLines()
    for seq in range(1, 201):
        lines.add(an_event(seq, "tool.start" if seq % 2 else "job.heartbeat", data={"input": {"n": seq}}))
    async with LogApp(lines).run_test(size=(80, 10)) as pilot:
        log = pilot.app.query_one(EventLog)
        log.flush()
        log.scroll_lines(-40)
        log.shift(1)
        at = log.bottom_line()
        assert at is not None
        log.keep_place(lines.toggle_heartbeats)
        bottom = log.bottom_line()
        assert bottom is not None
        assert abs((bottom.seq or 0) - (at.seq or 0)) <= 1
        assert not log.following
        assert log._side > 0
        log.follow()
        assert log._side > 0, "following keeps the offset"
        assert log.bottom_line() is lines.lines[-1]


@in_a_deck
async def test_a_text_is_found_backwards_from_the_end_and_following_ends_there() -> None:
    lines = EventLines()
    for seq in range(1, 101):
        lines.add(an_event(seq, data={"input": {"n": seq}}))
    async with LogApp(lines).run_test(size=(80, 10)) as pilot:
        log = pilot.app.query_one(EventLog)
        log.flush()
        assert log.find(has('"n": 4'), -1)
        assert not log.following
        assert any('"n": 49' in line for line in shown(log))
        assert log.find(has('"n": 4'), 1) is False
        assert log.find(has('"n": 4'), -1)
        assert any('"n": 48' in line for line in shown(log))
