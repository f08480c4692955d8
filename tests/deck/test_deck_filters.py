"""One filter line on every screen that lists something, with completion, history, and n and N in logs."""

import pytest
from jobdeck_tui.client.models import AuditRow, Queue
from jobdeck_tui.client.workers import Failure
from jobdeck_tui.core.event_lines import EventLines, line_of
from jobdeck_tui.core.filtered_lines import FilteredLines
from jobdeck_tui.deck import Deck
from jobdeck_tui.widgets.filter_line import FilterInput

from .deck_driver import (
    NOW,
    a_deck,
    a_job,
    an_event,
    burst,
    in_a_deck,
    lines,
    press,
    running,
    screen_text,
    told,
)


def a_queue(name: str, *, paused: bool = False) -> Queue:
    return Queue(name, paused, "ann" if paused else None, {"backlog": 3}, 12.0, 1.0, 2.0, 4.0, 1)


def a_listing_deck() -> Deck:
    """A deck with two rows in every table."""
    deck = a_deck([a_job(1), a_job(2, "failed", queue="research")])
    deck.queues.take([a_queue("fast"), a_queue("slow", paused=True)])
    deck.failures.take(
        [
            Failure("Timeout", "search", 3, NOW - 5, "job-1", "probe", "gave up", 1, "w0", None),
            Failure("ValueError", "report", 1, NOW - 900, "job-2", "probe", "bad input", 1, "w1", None),
        ]
    )
    deck.audit.take(
        [
            AuditRow(2, NOW - 5, "ann", "cancel", "job-1", 3, None, "refused: changed"),
            AuditRow(1, NOW - 50, "bob", "resume", "job-2", 3, "again", "resumed"),
        ]
    )
    return deck


@pytest.mark.parametrize(
    ("key", "typed", "shown", "hidden"),
    [
        ("1", "state:failed", "job00002", "job00001"),
        ("2", "worker:worker-1", "worker-1", "worker-0"),
        ("6", "state:paused", "slow", "fast"),
        ("7", "age>10m", "ValueError", "Timeout"),
        ("8", "state:refused", "cancel", "resume"),
    ],
)
def test_every_table_is_filtered_and_says_so_until_escape(
    key: str, typed: str, shown: str, hidden: str
) -> None:
    @in_a_deck
    async def go() -> None:
        async with running(a_listing_deck()) as pilot:
            await press(pilot, key)
            assert hidden in screen_text(pilot)
            await press(pilot, "slash")
            await burst(pilot, typed)
            assert "1 of 2 match, Enter shows them" in screen_text(pilot)
            await press(pilot, "enter")
            text = screen_text(pilot)
            assert f"filter: {typed}  1 of 2  esc clears" in text
            assert shown in text
            assert not any(line.lstrip(" ▸☑").startswith(hidden) for line in lines(pilot))
            await press(pilot, "escape")
            assert hidden in screen_text(pilot)
            assert "filter:" not in screen_text(pilot)

    go()


@in_a_deck
async def test_a_mistake_names_the_fields_of_the_table_it_was_made_on() -> None:
    async with running(a_listing_deck()) as pilot:
        await press(pilot, "6", "slash")
        await burst(pilot, "agent:x", "enter")
        assert "There is no field agent. Fields: backlog, held, oldest" in screen_text(pilot)


@in_a_deck
async def test_tab_completes_fields_and_the_words_that_rows_have_and_up_brings_filters_back() -> None:
    async with running(a_listing_deck()) as pilot:
        await press(pilot, "slash")
        await burst(pilot, "que", "tab", "res", "tab")
        typed = pilot.app.screen.query_one(FilterInput)
        assert typed.value == "queue:research"
        await press(pilot, "enter", "slash")
        await burst(pilot, "try>0", "enter")
        await press(pilot, "slash", "up", "up")
        assert typed.value == "queue:research"


@in_a_deck
async def test_tab_tells_the_candidates_where_they_agree_no_further() -> None:
    async with running(a_listing_deck()) as pilot:
        await press(pilot, "slash")
        await burst(pilot, "stat")
        await pilot.pause()
        await press(pilot, "tab")
        assert "tab: state:  status:" in screen_text(pilot)
        await burst(pilot, "e", "tab")
        assert pilot.app.screen.query_one(FilterInput).value == "state:"


@in_a_deck
async def test_n_goes_from_line_to_line_that_was_sought_with_every_line_shown_again() -> None:
    deck = a_deck()
    for seq in range(1, 41):
        kind = "tool.error" if seq in (10, 20) else "tool.start"
        deck.take_events([told(an_event(seq, kind))])
    async with running(deck) as pilot:
        await press(pilot, "5", "n")
        assert "Nothing was sought yet" in screen_text(pilot)
        await press(pilot, "slash")
        await burst(pilot, "type:tool.error", "enter")
        assert "filter: type:tool.error  2 of 40" in screen_text(pilot)
        await press(pilot, "escape", "N")
        assert "tool.error" in screen_text(pilot)
        assert "STOPPED" in screen_text(pilot)
        await press(pilot, "N", "N")
        assert "No other line has: type:tool.error" in screen_text(pilot)


def test_a_line_that_grows_into_the_filter_is_shown_once_and_old_ones_fall_out() -> None:
    every = EventLines(limit=5)
    filtered = FilteredLines(every)
    assert filtered.filter_by('"blue whale"', NOW)
    for seq, chunk in enumerate(("a blue", " whale", " sings"), 1):
        every.add(an_event(seq, "llm.chunk", id="call", data={"chunk": chunk}))
        filtered.update(NOW)
    assert [line.text for line in filtered.shown.lines] == ["a blue whale sings"]
    for seq in range(4, 20):
        every.put(line_of(an_event(seq, data={"input": "blue whale"})))
        filtered.update(NOW)
    assert len(filtered.shown.lines) == 5
    assert not filtered.filter_by("colour:red", NOW)
    assert filtered.filter.source == '"blue whale"'
    assert filtered.filter_by("", NOW)
    assert filtered.shown is every
