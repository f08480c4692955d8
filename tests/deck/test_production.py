"""On a profile of production every screen is framed, and no key changes anything before it was asked about."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from jobdeck_tui.core.config import Profile
from jobdeck_tui.opening import Opening
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import TypedQuestion
from textual.pilot import Pilot

from .deck_driver import in_a_deck, lines, press, program, screen_text
from .live_deck import until
from .screen_walk import deck_of, settle
from .telling_server import TellingServer
from .wayward import answer
from .world import World

ASKED = (
    ("cancel a job", ("c",), "Cancel 1 job?"),
    ("expire a job", ("e",), "Expire 1 job?"),
    ("resume a job", ("r",), "Resume 1 job?"),
    ("submit a job again", ("a",), "Submit again 1 job?"),
    ("move a job up", ("j", "plus"), "Move up 1 job?"),
    ("move a job down", ("j", "minus"), "Move down 1 job?"),
    ("grant a job more time", ("d",), "a later deadline?"),
    ("judge an effect", ("enter", "v"), "Did effect notify"),
    ("tell a caller again", ("enter", "C"), "Tell again the caller of 1 job?"),
    ("apply the recovery plan", ("3", "a"), "Recover 1 job?"),
    ("pause a queue", ("6", "p"), "Pause 1 queue?"),
    ("unpause a queue", ("6", "j", "r"), "Unpause 1 queue?"),
    ("drain a worker", ("2", "j", "D"), "Drain 1 worker?"),
    ("restart a worker", ("2", "j", "r"), "Restart 1 worker?"),
)
FRAME = "┃"


class Recording(TellingServer):
    """Refuses every act, and knows of them."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.acts: list[str] = []

    async def act(self, path: str, body: bytes) -> bytes:
        asked = json.loads(body)
        if not asked.get("dry_run"):
            self.acts.append(path)
            return await super().act(path, body)
        told = {"ok": True, "code": "eligible", "message": "", "state": None, "version": None}
        results = [{"job_id": job_id, **told} for job_id in asked["ids"]]
        return answer(200, {"counts": {"eligible": len(results)}, "results": results})


@asynccontextmanager
async def production(
    jobs: int = 10, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Pilot[int], Recording]]:
    servers: list[Recording] = []

    def teller(world: World) -> Recording:
        servers.append(Recording(world))
        return servers[0]

    async with deck_of(World(jobs=jobs), *size, teller) as (pilot, clock):
        Opening(Profile("prod", servers[0].url, "PROD")).prepare(program(pilot))
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await settle(pilot)
        yield pilot, servers[0]


@pytest.mark.parametrize(("what", "keys", "question"), ASKED, ids=[what for what, _, _ in ASKED])
def test_on_production_nothing_is_done_before_it_was_asked_about(
    what: str, keys: tuple[str, ...], question: str
) -> None:
    @in_a_deck
    async def go() -> None:
        async with production() as (pilot, server):
            for key in keys:
                await press(pilot, key)
                await settle(pilot)
            assert question in screen_text(pilot), what
            assert " PROD " in lines(pilot)[0]
            await press(pilot, "enter", "space", "escape")
            assert isinstance(pilot.app.screen, DeckScreen)
            await settle(pilot)
            assert server.acts == []

    go()


@in_a_deck
async def test_on_production_an_act_goes_out_when_it_was_said_yes_to() -> None:
    async with production() as (pilot, server):
        await press(pilot, "c", "y")
        await until(pilot, lambda: len(server.acts) == 1)
        assert server.acts[0].endswith("-held/cancel")


@in_a_deck
async def test_more_jobs_than_can_be_looked_through_ask_for_their_number_to_be_typed() -> None:
    async with production(jobs=60) as (pilot, server):
        await press(pilot, "A", "c")
        await until(pilot, lambda: isinstance(pilot.app.screen, TypedQuestion))
        assert "Cancel 36 jobs?" in screen_text(pilot)
        assert "36 can be cancelled, 24 are skipped" in " ".join(screen_text(pilot).split())
        await press(pilot, *"y", "enter", "backspace", *"60", "enter")
        assert "That is not 36. Nothing was done." in screen_text(pilot)
        assert server.acts == []
        await press(pilot, "backspace", "backspace", *"36", "enter")
        await until(pilot, lambda: server.acts == ["/v1/ops/jobs/bulk"])


@in_a_deck
async def test_no_drill_is_armed_on_production_and_that_is_said() -> None:
    async with production() as (pilot, server):
        await press(pilot, "4", "a")
        assert "Nothing is armed on PROD: drills are for other servers." in screen_text(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, DeckScreen)
        assert server.acts == []


def test_every_screen_of_production_is_framed_and_says_so_without_any_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    @in_a_deck
    async def go() -> None:
        async with production(size=(80, 24)) as (pilot, _server):
            for keys in ("1", "2", "3", "4", "5", "6", "7", "8", "1", "enter"):
                await press(pilot, keys)
                await settle(pilot)
                shown = [line for line in lines(pilot) if line.strip()]
                assert all(line.startswith(FRAME) and line.endswith(FRAME) for line in shown), keys
                assert " PROD " in "".join(shown[:2])

    go()
