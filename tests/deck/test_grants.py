"""``d`` grants one job a later deadline: as it was seen, after it was asked, with the old one kept on record."""

import asyncio

import pytest
from jobdeck_tui.core.acts import Phase
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import GrantOffer

from .deck_driver import NOW, Clock, a_deck, a_job, in_a_deck, press, program, running, screen_text
from .live_deck import LONG, choose, deck_on, detail, on_row, submit, until
from .processes import wait_until


def test_a_running_job_goes_on_under_the_later_deadline_and_the_old_one_stays_on_record(url: str) -> None:
    asyncio.run(submit(url, "needs-time", LONG, deadline_seconds=120))
    wait_until(lambda: detail(url, "needs-time").job.state == "running")
    before = detail(url, "needs-time").job

    async def go() -> None:
        async with deck_on(url, (80, 24)) as pilot:
            await until(pilot, lambda: on_row(pilot, "needs-time", "RUNNING", "-0"))
            await choose(pilot, "needs-time")
            await press(pilot, "d")
            assert "Grant needs-time a later deadline?" in screen_text(pilot)
            assert "Its deadline is " in screen_text(pilot)
            await press(pilot, "h")
            await until(pilot, lambda: on_row(pilot, "needs-time", "RUNNING", "-1h0"))
            await press(pilot, "enter")
            await until(pilot, lambda: "deadline moved from" in screen_text(pilot))
            await press(pilot, "c", "c")
            await until(pilot, lambda: "⊘ CANCELLED" in screen_text(pilot))

    asyncio.run(go())
    after = detail(url, "needs-time").job
    assert before.deadline is not None
    assert after.deadline == pytest.approx(before.deadline + 3600, abs=0.01)
    assert after.attempt == before.attempt, "it was not begun anew"


@in_a_deck
async def test_the_grant_is_for_the_row_as_it_was_when_it_was_asked_for() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock)) as pilot:
        deck = program(pilot).deck
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "d")
        deck.take_jobs([a_job(1, version=9)])
        deck.take_frame()
        await press(pilot, "m")
        (sent,) = deck.acts.history()
        assert (sent.version, sent.extend_seconds, sent.phase) == (3, 300.0, Phase.SENT)


@in_a_deck
async def test_enter_grants_nothing_and_escape_keeps_the_deadline() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "d", "enter", "space", "y")
        assert isinstance(pilot.app.screen, GrantOffer)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, DeckScreen)
        assert program(pilot).deck.acts.history() == []


@in_a_deck
async def test_the_offer_counts_down_and_tells_a_moved_deadline() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1, deadline=NOW + 100)], clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "d")
        assert "01:38 from now." in screen_text(pilot)
        clock.seconds = 38.0
        await until(pilot, lambda: "01:02 from now." in screen_text(pilot))
        clock.seconds = 101.0
        await until(pilot, lambda: "00:01 ago." in screen_text(pilot))
        program(pilot).deck.take_jobs([a_job(1, version=4, deadline=NOW + 400)])
        await until(pilot, lambda: "04:59 from now." in screen_text(pilot))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"state": "running"}, {"state": "succeeded"}, "It is DONE now: no more time is of use to it."),
        (
            {"state": "expired", "deadline": NOW - 5},
            {"state": "running"},
            "RUNNING now: there is nothing to resume.",
        ),
        (
            {"state": "expired", "deadline": NOW - 5},
            {"state": "expired", "deadline": NOW + 600},
            "now: it can be resumed as it is.",
        ),
    ],
    ids=["ended", "resumed-by-another", "granted-by-another"],
)
def test_an_offer_that_is_of_no_use_any_more_says_so_and_grants_nothing(
    before: dict[str, object], after: dict[str, object], said: str
) -> None:
    @in_a_deck
    async def go() -> None:
        clock = Clock()
        async with running(a_deck([a_job(1, **{"job_id": "one", **before})], clock)) as pilot:
            clock.seconds = 2.0
            deck = program(pilot).deck
            deck.take_frame()
            await press(pilot, "r" if before["state"] == "expired" else "d")
            assert "grant 5 minutes" in screen_text(pilot)
            deck.take_jobs([a_job(1, **{"job_id": "one", "version": 9, **after})])
            await press(pilot, "m")
            assert isinstance(pilot.app.screen, GrantOffer)
            await until(pilot, lambda: said in " ".join(screen_text(pilot).split()))
            assert "grant 5 minutes" not in screen_text(pilot)
            await press(pilot, "escape")
            assert deck.acts.history() == []

    go()


@pytest.mark.parametrize(
    ("state", "fields", "keys", "said"),
    [
        (
            "running",
            {"deadline": None},
            ("d",),
            "cannot be granted a later window: has no deadline to extend.",
        ),
        ("succeeded", {}, ("d",), "cannot be granted a later window: DONE, a success is never reopened."),
        ("expired", {"deadline": NOW - 5}, ("d",), "It is expired: r resumes it, and asks for more time"),
        ("running", {}, ("A", "d"), "A grant is for one job: 2 are chosen."),
    ],
    ids=["no-deadline", "done", "ended", "two"],
)
def test_where_no_time_can_be_granted_the_reason_is_said(
    state: str, fields: dict[str, object], keys: tuple[str, ...], said: str
) -> None:
    @in_a_deck
    async def go() -> None:
        clock = Clock()
        async with running(a_deck([a_job(1, state, **fields), a_job(2, state, **fields)], clock)) as pilot:
            clock.seconds = 2.0
            program(pilot).deck.take_frame()
            await press(pilot, *keys)
            assert said in " ".join(screen_text(pilot).split())
            assert isinstance(pilot.app.screen, DeckScreen)
            assert program(pilot).deck.acts.history() == []

    go()
