"""The key line offers what can be done now, and first what the row needs."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from jobdeck_tui.deck import Deck

from .deck_driver import Clock, a_deck, a_job, in_a_deck, lines, press, program, running
from .screen_walk import deck_of, settle
from .world import World

SENDING = {
    "jobs": ((), ("c Cancel", "e Expire", "d Grant time")),
    "job": (("enter",), ("v Verdict", "C Tell the caller again", "c Cancel", "r Resume")),
    "cluster": (("2", "j"), ("D Drain", "r Restart")),
    "recovery": (("3",), ("a Apply the plan",)),
    "drills": (("4",), ("a Arm",)),
    "queues": (("6",), ("p Pause",)),
}


def fall_silent(_deck: Deck, clock: Clock) -> None:
    clock.seconds += 5.0


def look_only(deck: Deck, _clock: Clock) -> None:
    deck.read_only = True


def serve_looks_only(deck: Deck, _clock: Clock) -> None:
    assert deck.overview is not None
    deck.overview = replace(deck.overview, read_only=True)


@pytest.mark.parametrize("columns", [80, 200])
def test_the_key_that_a_held_job_waits_for_is_the_first_one(columns: int) -> None:
    @in_a_deck
    async def go() -> None:
        async with deck_of(World(), columns, 24) as (pilot, _clock):
            await press(pilot, "enter")
            await settle(pilot)
            assert lines(pilot)[-1].startswith(" v Verdict ")
            assert lines(pilot)[-1].rstrip().endswith("? Help")

    go()


@in_a_deck
async def test_a_held_row_of_the_list_offers_its_resume_before_all() -> None:
    async with running(a_deck([a_job(1, "held"), a_job(2)])) as pilot:
        assert lines(pilot)[-1].startswith(" r Resume  enter Open ")
        await press(pilot, "j")
        await settle(pilot)
        assert lines(pilot)[-1].startswith(" enter Open  c Cancel ")


@pytest.mark.parametrize(
    ("off", "said"),
    [(fall_silent, "STALE"), (look_only, "READ-ONLY"), (serve_looks_only, "READ-ONLY")],
    ids=["stale", "read-only-deck", "read-only-server"],
)
@pytest.mark.parametrize("screen", SENDING)
def test_no_act_is_offered_while_none_may_go_out(
    screen: str, off: Callable[[Deck, Clock], None], said: str
) -> None:
    keys, acts = SENDING[screen]

    @in_a_deck
    async def go() -> None:
        async with deck_of(World(), 200, 30) as (pilot, clock):
            await press(pilot, *keys)
            await settle(pilot)
            assert all(f" {act} " in lines(pilot)[-1] for act in acts)
            app = program(pilot)
            off(app.deck, clock)
            app.front().flush()  # type: ignore[union-attr]
            await pilot.pause()
            assert said in lines(pilot)[0]
            assert not any(f" {act} " in lines(pilot)[-1] for act in acts)
            assert lines(pilot)[-1].rstrip().endswith("? Help")

    go()


@in_a_deck
async def test_arming_is_not_offered_on_production_nor_promised_there() -> None:
    deck = a_deck()
    deck.guarded, deck.badge = True, "PROD"
    async with running(deck) as pilot:
        await press(pilot, "4")
        shown = "\n".join(lines(pilot))
        assert " a Arm " not in lines(pilot)[-1]
        assert "arms the chosen fault" not in shown
        assert "Nothing is armed on PROD: drills are for other servers." in shown
