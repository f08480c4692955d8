"""Going from screen to screen: a main screen's key leads to it as it was left, and from there to its first."""

from .deck_driver import a_deck, in_a_deck, lines, press, program, running, screen_text
from .live_deck import until
from .screen_walk import deck_of
from .world import World


@in_a_deck
async def test_the_key_of_the_list_leads_there_from_a_job_and_first_to_the_job_from_elsewhere() -> None:
    async with running(a_deck()) as pilot:
        await press(pilot, "enter")
        opened = program(pilot).front()
        await press(pilot, "2", "1")
        assert program(pilot).front() is opened
        await press(pilot, "1")
        assert "enter Open" in screen_text(pilot)
        assert program(pilot).cursor_job_id is not None


@in_a_deck
async def test_a_queues_jobs_are_shown_in_the_list_even_where_a_job_was_left_open() -> None:
    async with running(a_deck()) as pilot:
        await press(pilot, "enter", "2")
        program(pilot).deck.job_list.filter_by("queue:contract_review")
        program(pilot).show_jobs()
        await pilot.pause()
        assert "filter: queue:contract_review" in screen_text(pilot)


@in_a_deck
async def test_under_a_dialog_no_key_is_offered_that_would_do_nothing() -> None:
    async with running(a_deck()) as pilot:
        assert "enter Open" in lines(pilot)[-1]
        await press(pilot, "A", "c")
        await pilot.pause()
        assert "y cancel" in " ".join(screen_text(pilot).split())
        assert lines(pilot)[-1].strip() == ""
        await press(pilot, "escape")
        await pilot.pause()
        assert "enter Open" in lines(pilot)[-1]


@in_a_deck
async def test_a_job_that_ended_without_a_report_will_have_none_and_says_so() -> None:
    for state, words in (("running", "No report yet."), ("failed", "It ended without a report.")):
        world = World()
        world.report = {"job_id": "any", "has_report": False, "report": None}
        world.detail["job"] |= {"state": state, "outcome": None if state == "running" else state}
        async with deck_of(world, 80, 24) as (pilot, _clock):
            program(pilot).open_job(world.detail["job"]["job_id"], "report")
            await until(pilot, lambda words=words: words in screen_text(pilot))
