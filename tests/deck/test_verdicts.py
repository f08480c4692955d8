"""A resume right after a verdict: what the server answered counts, however old the record that is read then."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobdeck_tui.core.acts import Phase
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.screens.verdict import VerdictDialog
from textual.pilot import Pilot

from .deck_driver import burst, in_a_deck, press, program, screen_text
from .live_deck import until
from .screen_walk import deck_of, settle
from .telling_server import TellingServer
from .wayward import answer
from .world import World


class Judged(TellingServer):
    """Takes a verdict once ``open`` is set, and resumes; the record it tells stays the one from before both."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.detail["effects"][0]["policy"] = "manual"
        self.open = asyncio.Event()
        self.refuses = False
        self.acts: list[str] = []

    async def act(self, path: str, body: bytes) -> bytes:
        self.acts.append(json.loads(body).get("verdict", path.rsplit("/")[-1]))
        if self.acts[-1] == "resume":
            return answer(200, {**self.world.detail["job"], "state": "queued", "version": 4})
        await self.open.wait()
        if self.refuses:
            return answer(409, {"detail": {"code": "not_eligible", "message": "There is nothing to judge."}})
        return answer(200, {**self.world.detail["effects"][0], "state": self.acts[-1], "settled_by": "ops"})


@asynccontextmanager
async def at_the_effect() -> AsyncIterator[tuple[Pilot[int], Judged]]:
    """The screen of the held job, its record read."""
    servers: list[Judged] = []

    def teller(world: World) -> Judged:
        servers.append(Judged(world))
        return servers[0]

    async with deck_of(World(), 80, 24, teller) as (pilot, _clock):
        program(pilot).open_job(servers[0].world.detail["job"]["job_id"], "effects")
        await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen))
        await settle(pilot)
        yield pilot, servers[0]


def phases(pilot: Pilot[int]) -> list[Phase]:
    return [tracked.phase for tracked in program(pilot).deck.acts.history()]


@in_a_deck
async def test_a_resume_pressed_right_behind_a_verdict_follows_it_and_asks_nothing_again() -> None:
    async with at_the_effect() as (pilot, server):
        await press(pilot, "r", "h", *"nth 47", "enter", "r")
        assert isinstance(pilot.app.screen, JobScreen)
        assert phases(pilot) == []
        assert "The resume follows as soon as the verdict is on record." in screen_text(pilot)
        await until(pilot, lambda: server.acts == ["happened"])
        server.open.set()
        await until(pilot, lambda: phases(pilot) == [Phase.GRACE])
        assert "resume in 3 s" in " ".join(screen_text(pilot).split())
        await press(pilot, "r")
        await until(pilot, lambda: server.acts == ["happened", "resume"])


@in_a_deck
async def test_a_record_read_from_before_the_verdict_does_not_take_it_back() -> None:
    async with at_the_effect() as (pilot, server):
        server.open.set()
        await press(pilot, "v", "n")
        await until(pilot, lambda: "On record: notify not happened." in screen_text(pilot))
        await settle(pilot)
        assert "⊘ NOT HAPPENED" in screen_text(pilot)
        await press(pilot, "r", "r")
        await until(pilot, lambda: server.acts == ["not_happened", "resume"])


@in_a_deck
async def test_a_resume_that_waits_for_a_refused_verdict_is_not_sent() -> None:
    async with at_the_effect() as (pilot, server):
        server.refuses = True
        await press(pilot, "v", "t", "r", "v")
        assert "The verdict is on its way." in screen_text(pilot)
        server.open.set()
        await until(pilot, lambda: "No verdict was given: There is nothing to judge." in screen_text(pilot))
        assert phases(pilot) == []
        await press(pilot, "r")
        assert isinstance(pilot.app.screen, VerdictDialog)


@in_a_deck
async def test_r37_a_resume_from_before_the_job_was_seen_again_is_not_taken_and_that_is_said() -> None:
    async with at_the_effect() as (pilot, server):
        server.open.set()
        await press(pilot, "v")
        await burst(pilot, "nrr")
        assert "2 keys typed before this screen was drawn: not taken." in screen_text(pilot)
        await until(pilot, lambda: server.acts == ["not_happened"])
        assert phases(pilot) == []
