"""Going from screen to screen: a main screen's key leads to it as it was left, and from there to its first."""

from .deck_driver import a_deck, in_a_deck, press, program, running, screen_text


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
