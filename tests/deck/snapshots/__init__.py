"""What every screen looks like, kept as text beside this module: the lines, and at 80×24 their styles too.

``make snapshots`` takes them anew; what changed is then seen in the version control's diff.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

from textual.pilot import Pilot

from tests.deck.deck_driver import Clock, a_deck, a_job, program, running
from tests.deck.screen_walk import deck_of, seen, settle, walk
from tests.deck.world import World
from tests.hostile.corpus import HOSTILE

HERE = Path(__file__).parent
SIZES = ((80, 24), (120, 36), (200, 50))
STYLED = SIZES[0]
MANY = 100_000
Taken = dict[str, str]


async def of_size(size: tuple[int, int]) -> Taken:
    """Every screen at one size, by the name of its file."""
    async with deck_of(World(), *size) as (pilot, _):
        folder = f"{size[0]}x{size[1]}"
        return {
            f"{folder}/{name}.txt": seen(pilot, styles=size == STYLED)
            async for name in walk(pilot, over=size == STYLED)
        }


async def of_states() -> Taken:
    """The list of jobs where something is special about it: no colour, not live, hostile, empty, huge."""
    taken = {}
    for name, change in CONNECTIONS.items():
        async with deck_of(World(), *STYLED) as (pilot, clock):
            change(pilot, clock)
            await settle(pilot)
            taken[name] = seen(pilot, styles=name == "stale")
    async with _without_colour(), deck_of(World(), *STYLED) as (pilot, _):
        taken["no-colour"] = seen(pilot, styles=True)
    texts = cycle(HOSTILE)
    async with deck_of(World(lambda _: next(texts), jobs=20), *STYLED) as (pilot, _):
        taken["hostile"] = seen(pilot, styles=False)
    for name, count in (("empty", 0), ("huge", MANY)):
        jobs = [a_job(number, "queued") for number in range(count)]
        async with running(a_deck(jobs), *STYLED) as pilot:
            await settle(pilot)
            taken[name] = seen(pilot, styles=False)
    return {f"states/{name}.txt": text for name, text in taken.items()}


def _lost(pilot: Pilot[int], clock: Clock) -> None:
    program(pilot).deck.connection.lost(clock.monotonic(), clock.wall(), "connection refused", 4.0)


def _offline(pilot: Pilot[int], clock: Clock) -> None:
    _lost(pilot, clock)
    clock.seconds += 120


def _denied(pilot: Pilot[int], clock: Clock) -> None:
    program(pilot).deck.connection.denied(clock.monotonic(), clock.wall(), 401, "the token has expired")


def _stale(_pilot: Pilot[int], clock: Clock) -> None:
    clock.seconds += 20


def _read_only(pilot: Pilot[int], _clock: Clock) -> None:
    program(pilot).deck.read_only = True


CONNECTIONS: dict[str, Callable[[Pilot[int], Clock], None]] = {
    "retry": _lost,
    "offline": _offline,
    "denied": _denied,
    "stale": _stale,
    "read-only": _read_only,
}


@asynccontextmanager
async def _without_colour() -> AsyncIterator[None]:
    os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        del os.environ["NO_COLOR"]
