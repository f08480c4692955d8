"""Every screen at every size: drawn whole, harmless, and with its keys explained."""

from dataclasses import replace
from unicodedata import category

import pytest
from jobdeck_tui.client.models import Event, JobDetail
from jobdeck_tui.core.event_lines import line_of
from jobdeck_tui.core.job_view import JobView
from jobdeck_tui.deck import Awaited
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.widgets.preview import Preview
from textual.binding import Binding

from tests.hostile.corpus import HOSTILE

from .deck_driver import (
    NOW,
    Clock,
    a_deck,
    a_drill,
    a_job,
    a_picture,
    an_event,
    an_overview,
    in_a_deck,
    lines,
    press,
    program,
    running,
    screen_text,
    told,
)

TINY = ((40, 10), (20, 5))
ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
KEYS = ("1", "2", "4", "5", "enter", "question_mark")


@pytest.mark.parametrize("size", TINY, ids=lambda size: f"{size[0]}x{size[1]}")
def test_screens_are_drawn_in_however_little_room(size: tuple[int, int]) -> None:
    @in_a_deck
    async def go() -> None:
        deck = a_deck()
        deck.take_drill(a_drill())
        deck.take_events([told(an_event(1))])
        async with running(deck, *size) as pilot:
            for key in KEYS:
                await press(pilot, key)
                await pilot.pause()
                assert len(lines(pilot)) == size[1]
                if key in {"enter", "question_mark"}:
                    await press(pilot, "escape")

    go()


@in_a_deck
async def test_the_list_at_80_by_24_shows_state_time_left_and_note_of_each_job() -> None:
    async with running(a_deck()) as pilot:
        text = screen_text(pilot)
        for word in (
            "✔ LIVE",
            "▸ RUNNING",
            "◷ QUEUED",
            "⏸ HELD",
            "-01:4",
            "extract_clauses 1/4",
            "LEFT",
            "NOTE",
        ):
            assert word in text, word
        assert "Dask ✔ up epoch 1" in text
        assert "worker-0 2/2+3" in text
        assert lines(pilot)[-1].rstrip().endswith("? Help")


@in_a_deck
async def test_drills_show_expected_against_seen_and_the_evidence_of_each_job() -> None:
    deck = a_deck()
    deck.take_drill(a_drill())
    async with running(deck, 100, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        text = screen_text(pilot)
        assert "loss noticed" in text
        assert "< 500ms" in text
        assert "200ms ✔" in text
        assert "⚠ late" in text
        assert "stages run again: 0" in text
        assert "✔ none again" in text


@in_a_deck
async def test_a_fault_is_injected_only_armed_and_by_its_name() -> None:
    async with running(a_deck(), 100, 40) as pilot:
        await press(pilot, "4", "enter")
        assert isinstance(pilot.app.screen, DeckScreen)
        await press(pilot, "a")
        await pilot.pause()
        assert "DRILL ARMED" in screen_text(pilot)
        await press(pilot, "enter", *"worker-loss", "enter")
        await pilot.pause()
        assert "That is not scheduler-loss. Nothing was done." in screen_text(pilot)
        await press(pilot, "escape")
        await pilot.pause()
        assert program(pilot).deck.fuse.fault is None


@in_a_deck
async def test_an_arming_ends_by_itself() -> None:
    clock = Clock()
    deck = a_deck(clock=clock)
    async with running(deck) as pilot:
        await press(pilot, "4")
        await pilot.pause()  # a key pressed before the screen is drawn never acts
        await press(pilot, "a")
        assert deck.fuse.fault is not None
        clock.seconds = 31.0
        assert deck.fuse.fault is None


@in_a_deck
async def test_help_lists_every_key_of_the_screen_it_was_asked_from() -> None:
    async with running(a_deck(), 100, 60) as pilot:
        described = {
            binding.description
            for _, binding, _, _ in pilot.app.screen.active_bindings.values()
            if isinstance(binding, Binding)
        }
        await press(pilot, "question_mark")
        await pilot.pause()
        text = screen_text(pilot)
        missing = [words for words in described if words and words not in text]
        assert missing == []
        assert "admitted, not yet handed to Dask" in text


@in_a_deck
async def test_a_filter_is_kept_by_enter_and_a_mistake_names_what_is_known() -> None:
    async with running(a_deck()) as pilot:
        await press(pilot, "slash", *"nonsense:x", "enter")
        await pilot.pause()
        assert "There is no field nonsense" in screen_text(pilot)
        await press(pilot, *["backspace"] * 10, *"state:failed", "enter")
        await pilot.pause()
        text = screen_text(pilot)
        assert "filter: state:failed  1 of 10" in text
        assert "▸ RUNNING" not in text
        await press(pilot, "escape")
        await pilot.pause()
        assert "▸ RUNNING" in screen_text(pilot)


@in_a_deck
async def test_r37_a_frozen_list_stands_and_counts_what_it_misses() -> None:
    deck = a_deck([a_job(1), a_job(2)])
    async with running(deck) as pilot:
        await press(pilot, "p")
        deck.take_jobs([a_job(1, version=9, note="moved on")])
        program(pilot).front().flush()
        await pilot.pause()
        text = screen_text(pilot)
        assert "FROZEN +1" in text
        assert "moved on" not in text
        await press(pilot, "p")
        await pilot.pause()
        assert "moved on" in screen_text(pilot)


@in_a_deck
async def test_a_disagreement_of_dask_and_the_records_is_said_once_it_lasted() -> None:
    deck = a_deck([a_job(number, "queued") for number in range(5)])
    start = deck.now()
    for second in range(14):
        deck.now = lambda second=second: start + second / 2
        overview = an_overview(list(deck.jobs))
        deck.picture = None
        deck.overview = overview
        deck.take_picture(a_picture(deck.now(), waiting=0, queued=2, processing=0))
    async with running(deck, 100, 24) as pilot:
        assert "Dask does not know 3 jobs that the records say it holds" in screen_text(pilot)


def hostile_event(seq: int, text: str) -> Event:
    return Event(text, seq, text, NOW, text, {"data": {"input": text, "chunk": text}, "id": text})


@pytest.mark.parametrize("number", range(0, len(HOSTILE), 10))
def test_r38_job_text_never_reaches_the_terminal_as_an_escape_nor_acts_as_markup(number: int) -> None:
    """Even where a string had slipped past the client's sanitiser, nothing of it acts."""

    @in_a_deck
    async def go() -> None:
        texts = HOSTILE[number : number + 10]
        jobs = [
            a_job(
                n,
                "failed",
                job_id=f"{text[:50]}",
                workflow=text,
                queue=text,
                note=text,
                error=text,
                worker=text,
            )
            for n, text in enumerate(texts)
        ]
        deck = a_deck(jobs)
        for seq, text in enumerate(texts, start=1):
            deck.feed.every.put(line_of(hostile_event(seq, text)))
        async with running(deck, 120, 36) as pilot:
            for key in ("1", "2", "4", "5", "1", "enter", "escape"):
                await press(pilot, key)
                await pilot.pause()
                assert pilot.app.is_running
                for strip in filtered(pilot):
                    assert not [c for text, _, _ in strip for c in text if category(c) in ACTING], strip
                    assert all(style is None or "@click" not in style.meta for _, style, _ in strip)
            program(pilot).tell(texts[0])
            await pilot.pause()
            assert pilot.app.is_running

    go()


def filtered(pilot: object) -> list[list[tuple[str, object, object]]]:
    """Each line as it leaves for the terminal: after the app's filters."""
    app = program(pilot)
    background = app.screen.styles.background
    return [
        list(strip.apply_filter(app._control_filter, background))
        for strip in app.screen._compositor.render_strips()
    ]


@in_a_deck
async def test_going_back_keeps_filter_order_and_cursor() -> None:
    async with running(a_deck()) as pilot:
        await press(pilot, "j", "j", "j")
        chosen = program(pilot).front().table.cursor_id
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, JobScreen)
        assert pilot.app.screen.view.job_id == chosen
        await press(pilot, "escape")
        assert program(pilot).front().table.cursor_id == chosen


@pytest.mark.parametrize("rests", [True, False], ids=["the operator rests", "the operator is at the keys"])
def test_an_awaited_job_is_announced_and_enter_opens_its_report(*, rests: bool) -> None:
    @in_a_deck
    async def go() -> None:
        clock = Clock()
        deck = a_deck([a_job(1), a_job(2), a_job(3, job_id="the-last")], clock)
        deck.awaited = Awaited("the-last", "The report")
        async with running(deck) as pilot:
            clock.seconds = 30.0
            if not rests:
                await press(pilot, "j")
            deck.take_jobs([a_job(3, "succeeded", job_id="the-last", version=9)])
            deck.take_frame()
            await pilot.pause(0.3)
            text = screen_text(pilot)
            assert ("The report is ready: Enter opens it." in text) is rests
            assert ("The report is ready: job the-last." in text) is not rests
            await press(pilot, "enter")
            opened = pilot.app.screen
            assert isinstance(opened, JobScreen)
            assert (opened.view.job_id == "the-last") is rests
            assert (opened.query_one("#panes").current == "report") is rests

    go()


@in_a_deck
async def test_r37_the_preview_never_shows_one_jobs_events_under_anothers_name() -> None:
    async with running(a_deck(), 120, 36) as pilot:
        preview = program(pilot).screen.query_one(Preview)
        preview.show_view(JobView("somebody-elses"))
        preview.flush(a_job(1), NOW)
        assert preview.view is None


@pytest.mark.parametrize("size", [(120, 36), (200, 50)])
def test_the_preview_says_whole_why_a_job_waits(size: tuple[int, int]) -> None:
    why = "Ready, held by Dask until a slot is free: 6 of 6 slots are taken (by long-0, long-1, long-2, long-3, "
    why += "batch-12 and 1 more). 3 jobs are before it. Its deadline is in 1 h 1 min."

    @in_a_deck
    async def go() -> None:
        waits = a_job(1, "queued")
        async with running(a_deck([waits]), *size) as pilot:
            preview = program(pilot).screen.query_one(Preview)
            view = JobView(waits.job_id)
            preview.show_view(view)
            view.take_detail(JobDetail(waits, {}, (), (), (), (), None, "slots_taken", why))
            preview.flush(waits, NOW)
            await pilot.pause(0.3)
            assert why in " ".join(screen_text(pilot).replace("│", " ").split())

    go()


@in_a_deck
async def test_open_streams_are_not_called_readers_for_one_deck_has_several() -> None:
    deck = a_deck()
    deck.take_overview(replace(an_overview([]), streams=3))
    async with running(deck, 120, 36) as pilot:
        assert "3 streams open" in lines(pilot)[0]


def test_the_counts_are_the_lists_own_while_it_is_whole_and_else_the_servers() -> None:
    deck = a_deck([a_job(1, "running"), a_job(2, "queued", job_id="two")])
    deck.take_jobs([a_job(2, "running", job_id="two", version=9)])
    assert (deck.counts()["running"], deck.counts()["queued"]) == (2, 0)
    deck.take_overview(an_overview([a_job(n, "queued") for n in range(7)]))
    assert deck.counts()["queued"] == 7


def test_an_overview_that_only_grew_older_is_no_news() -> None:
    deck = a_deck()
    assert not deck.take_overview(replace(deck.overview, at=NOW + 1, drain_seconds=7.0))
    assert deck.take_overview(replace(deck.overview, workers=1))


@in_a_deck
async def test_below_60_by_16_the_list_keeps_state_and_time_left_and_says_what_more_room_shows() -> None:
    async with running(a_deck(), 50, 12) as pilot:
        text = screen_text(pilot)
        assert "60×16 or more shows details" in text
        assert "▸ RUNNING" in text
        assert "LEFT" in text
        assert "NOTE" not in text
    async with running(a_deck(), 80, 24) as pilot:
        assert "shows details" not in screen_text(pilot)


@in_a_deck
async def test_help_is_the_binding_registry_of_each_screen_with_the_glossary() -> None:
    async with running(a_deck(), 120, 36) as pilot:
        for mode, words in (("1", "Say why, before it is sent"), ("2", "Take back"), ("2", "Dask's pages")):
            await press(pilot, mode)
            drained = "a worker that takes nothing new"
            await press(pilot, "question_mark")
            help_text = str(pilot.app.screen.query_one("#help").render())
            for shown in (words, drained, "OFFLINE", "outcome unknown, checking", "no-worker", "dry run"):
                assert shown in help_text, shown
            await press(pilot, "escape")
