"""What became of an act, whichever kind it is: said on the line above the keys, and listed among my acts."""

import asyncio

from jobdeck_tui.client import decode
from jobdeck_tui.core.eligibility import Act
from textual.pilot import Pilot

from .deck_driver import NOW, Clock, a_deck, a_job, in_a_deck, press, program, running, screen_text
from .live_deck import until
from .screen_walk import deck_of, settle
from .telling_server import TellingServer
from .wayward import answer
from .world import World


class Drilled(TellingServer):
    """Injects a fault; any other act it refuses."""

    async def act(self, path: str, body: bytes) -> bytes:
        if path.endswith("/drills"):
            return answer(202, {**self.world.drills["drills"][0], "id": "abc"})
        return await super().act(path, body)


@in_a_deck
async def test_r36_a_drill_and_a_refused_pause_are_among_my_acts_with_what_became_of_them() -> None:
    async with deck_of(World(), 100, 40, Drilled) as (pilot, _clock):
        await press(pilot, "L")
        assert "None yet." in screen_text(pilot)
        await press(pilot, "escape", "4", "a", "enter", *"scheduler-loss", "enter")
        await until(pilot, lambda: "Injected: drill abc." in screen_text(pilot))
        await press(pilot, "6")
        await settle(pilot)
        await press(pilot, "p")
        await until(pilot, lambda: "was refused, nothing was changed" in screen_text(pilot))
        await press(pilot, "L")
        await pilot.pause()
        told = " ".join(screen_text(pilot).split())
        assert "drill scheduler-loss: Injected: drill abc." in told
        assert "was refused, nothing was changed: This server only tells." in told
        assert told.index("pause queue") < told.index("drill scheduler-loss"), "newest first"


@in_a_deck
async def test_r37_what_may_not_go_out_any_more_when_its_question_is_answered_is_not_sent() -> None:
    world = World()
    async with deck_of(world, 100, 40, Drilled) as (pilot, _clock):
        await press(pilot, "4", "a", "enter", *"scheduler-loss")
        program(pilot).deck.take_overview(decode.overview({**world.overview, "read_only": True}))
        await press(pilot, "enter")
        await settle(pilot)
        assert "Not sent: this server is read-only." in screen_text(pilot)
        assert program(pilot).deck.errands.history() == []


async def line(pilot: Pilot[int], clock: Clock, seconds: float) -> str:
    """The screen so many seconds after the beginning, while the server goes on to be heard of."""
    clock.seconds = seconds
    program(pilot).deck.take_frame()
    program(pilot).front().flush()  # type: ignore[union-attr]
    await pilot.pause()
    return screen_text(pilot)


@in_a_deck
async def test_an_earlier_act_that_ends_after_a_newer_one_is_told_too_and_never_hidden_before() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2)], clock), 100) as pilot:
        deck = program(pilot).deck
        first, second = deck.acts.confirmed(Act.CANCEL, [a_job(1), a_job(2)], NOW)
        deck.acts.due(NOW, live=True)
        for tracked in (first, second):
            deck.acts.accepted(tracked.number, None, NOW)
        deck.take_jobs([a_job(2, "cancelled", job_id=second.job_id, version=9)])
        await pilot.pause()
        assert f"cancel {second.job_id}: seen: CANCELLED" in await line(pilot, clock, 1.0)
        quiet = await line(pilot, clock, 20.0)
        assert "seen: CANCELLED" not in quiet
        assert f"cancel {first.job_id}: accepted" in quiet
        deck.take_jobs([a_job(1, "cancelled", job_id=first.job_id, version=9)])
        assert f"cancel {first.job_id}: seen: CANCELLED" in await line(pilot, clock, 21.0)
        assert f"cancel {first.job_id}" not in await line(pilot, clock, 40.0)


@in_a_deck
async def test_what_was_said_of_an_act_before_is_gone_once_another_is_asked_for() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock), 100) as pilot:
        program(pilot).deck.say("move job00009: sent", "notice")
        assert "move job00009: sent" in await line(pilot, clock, 2.0)
        await press(pilot, "c")
        shown = await line(pilot, clock, 2.5)
        assert "cancel job00001-running in " in shown
        assert "move job00009: sent" not in shown


@in_a_deck
async def test_how_an_act_ended_is_told_for_some_seconds_and_not_again_on_the_next_screen() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock), 100) as pilot:
        acts = program(pilot).deck.acts
        (sent,) = acts.confirmed(Act.CANCEL, [a_job(1)], NOW)
        acts.due(NOW, live=True)
        acts.refused(sent.number, "it is too late")
        said = "cancel job00001-running: refused: it is too late"
        assert said in await line(pilot, clock, 1.0)
        await press(pilot, "2")
        assert said in await line(pilot, clock, 3.0)
        assert said not in await line(pilot, clock, 30.0)
        for key in ("3", "1", "enter"):
            await press(pilot, key)
            assert said not in await line(pilot, clock, 31.0), key


class Slow(TellingServer):
    """Answers an act once ``open`` is set."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.open = asyncio.Event()

    async def act(self, path: str, body: bytes) -> bytes:
        await self.open.wait()
        return answer(200, {"name": "worker-1", "state": "drained", "running": 0, "result": "worker-1 rests"})


@in_a_deck
async def test_an_act_that_is_answered_late_is_told_as_sent_until_then() -> None:
    servers: list[Slow] = []

    def teller(world: World) -> Slow:
        servers.append(Slow(world))
        return servers[0]

    async with deck_of(World(), 100, 40, teller) as (pilot, clock):
        await press(pilot, "2", "j", "D", "y")
        assert "drain worker-1: sent" in await line(pilot, clock, 9.5)
        servers[0].open.set()
        await until(pilot, lambda: "worker-1 rests" in screen_text(pilot))
        assert "worker-1 rests" in await line(pilot, clock, 17.0)
        assert "worker-1 rests" not in await line(pilot, clock, 18.0)


def test_what_was_said_is_shown_for_its_time_however_late_a_busy_machine_draws_it() -> None:
    clock = Clock()
    deck = a_deck(clock=clock)
    deck.say("worker-1 rests", "notice", 8.0)
    clock.seconds = 20.0
    assert deck.notice() is not None
    clock.seconds = 27.0
    assert deck.notice() is not None
    clock.seconds = 28.5
    assert deck.notice() is None
