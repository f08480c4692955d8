"""Eight hours of a restless server, compressed: what the deck keeps is what it shows, and no more."""

import asyncio
import gc
import logging
import weakref
from collections.abc import Callable
from itertools import cycle

import pytest
from jobdeck_tui.app import DeckApp
from jobdeck_tui.client import sse
from jobdeck_tui.core import event_feed
from jobdeck_tui.reaching import Reaching
from jobdeck_tui.widgets.event_log import EventLog
from rich.segment import Segment
from textual.cache import FIFOCache
from textual.strip import Strip

from .deck_driver import a_deck, in_a_deck, press, running
from .live_deck import until
from .telling_server import TellingServer, telling
from .world import World

JOBS, EVENTS, EVENTS_KEPT = 60, 100, 500
LOOKS_AT = (12, 14, 16, 27, 29, 31)
"""Connections, each with other jobs than the one before: eight hours of one lost every quarter of an hour. What
is drawn at a moment is kept as long as it is drawn, so that the smallest of some looks counts.
"""
KEYS = (
    "enter",
    "escape",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "enter",
    "escape",
    "8",
    "1",
    "question_mark",
    "escape",
)
DRAWN = (FIFOCache, Segment, Strip)
GROWN_OBJECTS_MAX = 2_000


class RestlessServer(TellingServer):
    """Closes each feed when it has told everything; after that there are other jobs."""

    turn = 0
    listed: Callable[[], bool]

    async def hold(self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not path.startswith("/v1/ops/"):
            await super().hold(path, reader, writer)
            return
        closed = asyncio.ensure_future(reader.read())
        while not self.listed() and not closed.done():
            await asyncio.wait([closed], timeout=0.005)
        closed.cancel()
        await asyncio.gather(closed, return_exceptions=True)
        self.turn += 1
        self.tell(a_world(self.turn))


def a_world(turn: int) -> World:
    return World(lambda plain: f"{plain}-{turn}", EVENTS, JOBS)


def objects() -> int:
    """How many there are, but for what is drawn at the moment and how it was drawn before."""
    gc.collect()
    gc.collect()
    return sum(not isinstance(one, DRAWN) for one in gc.get_objects())


def test_eight_hours_of_churn_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "RETRY_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(event_feed, "EVENTS_KEPT_MAX", EVENTS_KEPT)
    monkeypatch.setattr(logging.getLogger("jobdeck.deck"), "disabled", True)  # pytest keeps every record
    keys = cycle(KEYS)

    async def go() -> list[int]:
        server = RestlessServer(a_world(0))
        seen: list[int] = []
        async with telling(server):
            app = DeckApp(Reaching(server.url))
            server.listed = lambda: (
                {job.job_id for job in app.deck.jobs} == {job["job_id"] for job in server.world.jobs}
            )
            async with asyncio.timeout(110), app.run_test(size=(120, 36)) as pilot:
                for turn in LOOKS_AT:
                    while server.turn < turn:
                        await press(pilot, next(keys))
                    await press(pilot, "escape", "5", "1")
                    seen.append(objects())
                assert app.deck.feed.seen >= EVENTS * LOOKS_AT[-1]
        return seen

    seen = asyncio.run(go())
    assert min(seen[3:]) - min(seen[:3]) < GROWN_OBJECTS_MAX, seen


@in_a_deck
async def test_a_closed_screen_leaves_nothing_of_what_it_drew() -> None:
    async with running(a_deck()) as pilot:
        await press(pilot, "enter")
        drawn = weakref.ref(pilot.app.screen.query_one(EventLog)._styles_cache)
        await press(pilot, "escape")
        await until(pilot, lambda: gc.collect() >= 0 and drawn() is None)
