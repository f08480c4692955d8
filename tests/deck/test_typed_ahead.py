"""R37: keys that arrive faster than the screen follows never act on what nobody saw."""

import os

import pytest
from jobdeck_tui.screens.dialogs import Question, TypedQuestion
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.widgets.filter_line import FilterInput
from running_backend import RunningBackend
from textual.pilot import Pilot

from .deck_driver import Clock, a_deck, a_job, burst, in_a_deck, program, running, screen_text
from .pty_terminal import Terminal


async def settled(pilot: Pilot[int], clock: Clock) -> None:
    """Past the moment in which rows count as just slid in."""
    clock.seconds = 2.0
    program(pilot).deck.take_frame()
    await pilot.pause()


@in_a_deck
async def test_r37_a_filter_typed_in_one_burst_is_text_and_nothing_else() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2)], clock)) as pilot:
        await settled(pilot, clock)
        await burst(pilot, "/state:running, expired")
        assert pilot.app.screen.query_one(FilterInput).value == "state:running, expired"
        assert program(pilot).deck.acts.history() == []
        assert program(pilot).deck.job_list.sort_column == "risk"


@in_a_deck
async def test_r37_what_holds_is_replaced_by_the_first_character_typed_ahead_and_not_by_a_later_one() -> None:
    async with running(a_deck([a_job(1), a_job(2)])) as pilot:
        await burst(pilot, "/running", "enter")
        assert program(pilot).deck.job_list.filter_source == "running"
        await burst(pilot, "/queued", "backspace", "enter", "j")
        assert program(pilot).deck.job_list.filter_source == "queue"


@in_a_deck
async def test_r37_a_question_is_not_answered_by_a_key_from_before_it_was_drawn() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2)], clock)) as pilot:
        await settled(pilot, clock)
        await burst(pilot, "Acy")
        assert isinstance(pilot.app.screen, Question)
        assert program(pilot).deck.acts.history() == []
        await pilot.press("y")
        assert len(program(pilot).deck.acts.history()) == 2


@in_a_deck
async def test_r37_a_fault_is_not_injected_by_its_name_typed_ahead() -> None:
    async with running(a_deck(), 100, 40) as pilot:
        await burst(pilot, "4a", "enter", "scheduler-loss", "enter")
        assert program(pilot).current_mode == "drills"
        assert program(pilot).deck.fuse.fault is None
        await burst(pilot, "a", "enter", "scheduler-loss", "enter")
        assert isinstance(pilot.app.screen, TypedQuestion)
        assert program(pilot).deck.fuse.fault is not None


@in_a_deck
async def test_r37_a_job_just_opened_is_not_cancelled_by_a_key_typed_ahead_and_that_is_said() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2)], clock)) as pilot:
        await settled(pilot, clock)
        await burst(pilot, "j", "enter", "c")
        assert isinstance(pilot.app.screen, JobScreen)
        assert program(pilot).deck.acts.history() == []
        assert "1 key typed before this screen was drawn: not taken." in screen_text(pilot)
        await pilot.press("c")
        assert [act.job_id for act in program(pilot).deck.acts.history()] == ["job00002-running"]


@pytest.fixture(scope="module")
def long_jobs(backend: RunningBackend) -> tuple[str, ...]:
    jobs = ("long-1", "long-2")
    for job_id in jobs:
        backend.submit({"name": "only", "seconds": 60}, job_id=job_id, deadline_seconds=300)
        backend.wait_for_stage(job_id, "only")
    return jobs


@pytest.mark.parametrize(
    ("typed", "then"),
    [
        (b"/expire", b"0 of 2 match"),
        (b"Acy", b"keep them as they are"),
        (b"\rc", b"typed before this screen was drawn"),
    ],
    ids=["filter", "question", "job"],
)
def test_r37_a_burst_in_a_real_terminal_acts_on_nothing(
    backend: RunningBackend, long_jobs: tuple[str, ...], typed: bytes, then: bytes
) -> None:
    def transitions() -> list[list[str]]:
        return [backend.transitions(job_id) for job_id in long_jobs]

    before = transitions()
    terminal = Terminal(backend.url)
    terminal.read_until(b"LIVE")
    terminal.read_until(b"long-2")
    os.write(terminal.main, typed)
    terminal.read_until(then)
    os.write(terminal.main, b"\x03")
    assert terminal.end() == 0
    assert transitions() == before
