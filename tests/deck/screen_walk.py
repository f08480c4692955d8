"""Goes through every screen of the deck on a server that tells a ``World``, with a clock that stands."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from jobdeck_tui.app import DeckApp
from jobdeck_tui.client import decode
from jobdeck_tui.deck import Deck
from jobdeck_tui.reaching import Reaching
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.widgets.preview import Preview
from textual.pilot import Pilot

from .deck_driver import Clock, a_picture, burst, press, program, screen_text
from .telling_server import TellingServer, telling
from .world import World

ENDLESS = {"link", "follow"}


@dataclass(frozen=True)
class Stop:
    """A screen: its name, the keys that lead there (words are typed as one piece), and those that lead back."""

    name: str
    keys: tuple[str, ...]
    back: tuple[str, ...] = ()
    over: bool = False
    """A dialog or a mistake over another screen: one size tells enough."""


JOB_TABS = ("stages", "events", "effects", "artifacts", "report", "record")
STOPS = (
    Stop("jobs", ()),
    Stop("jobs-marked", ("j", "space", "j", "space"), ("escape",), over=True),
    Stop("question", ("A", "c"), ("escape", "escape"), over=True),
    Stop("filter-mistake", ("slash", "nonsense:x", "enter"), ("escape", "escape"), over=True),
    Stop("job-stages", ("enter", "shift+tab")),
    *(Stop(f"job-{tab}", ("tab",)) for tab in JOB_TABS[1:4]),
    Stop("artifact", ("enter",), ("escape",)),
    *(Stop(f"job-{tab}", ("tab",)) for tab in JOB_TABS[4:]),
    Stop("verdict", ("v",), ("escape",), over=True),
    Stop("cluster", ("escape", "2")),
    Stop("worker-log", ("w",), ("escape",)),
    Stop("recovery", ("3",)),
    Stop("drills", ("4",)),
    Stop("typed-question", ("a", "enter"), ("escape", "escape"), over=True),
    Stop("events", ("5",)),
    Stop("queues", ("6",)),
    Stop("failures", ("7",)),
    Stop("failure", ("enter",), ("escape",)),
    Stop("audit", ("8",), ("1",)),
    Stop("my-acts", ("c", "c", "L"), ("escape",), over=True),
    Stop("help", ("question_mark",), ("escape",)),
)


@asynccontextmanager
async def deck_of(
    world: World, columns: int, rows: int, teller: Callable[[World], TellingServer] = TellingServer
) -> AsyncIterator[tuple[Pilot[int], Clock]]:
    """A live deck that has listed everything; Dask's own picture is given, for its times are the machine's."""
    clock = Clock()
    deck = Deck(clock.wall, clock.monotonic)
    async with telling(teller(world)) as server:
        app = DeckApp(Reaching(server.url), deck)
        app.link.dask.poll = lambda **_: None  # type: ignore[method-assign]
        async with asyncio.timeout(60), app.run_test(size=(columns, rows), notifications=True) as pilot:
            listed, told = len(world.jobs), len(world.events)
            while not (deck.drills and deck.feed.seen == told and len(deck.jobs) == listed):
                await pilot.pause(0.01)
            deck.cluster = decode.cluster(world.cluster)
            deck.take_picture(a_picture())
            await settle(pilot)
            yield pilot, clock


async def settle(pilot: Pilot[int]) -> None:
    """Waits until everything that the screen in view asked for is there, and drawn."""
    app = program(pilot)
    screen = app.front()
    assert screen is not None
    screen.flush(everything=True)
    while _reads(app):
        await pilot.pause(0.01)
    await _drawn(pilot)
    screen.flush()
    await _drawn(pilot)


async def _drawn(pilot: Pilot[int]) -> None:
    await pilot.pause()
    while any(screen._dirty_widgets for screen in pilot.app.screen_stack):
        await pilot.pause(0.01)


def _reads(app: DeckApp) -> bool:
    if any(not worker.is_finished and worker.group not in ENDLESS for worker in app.workers):
        return True
    screen = app.front()
    views = [screen.view] if isinstance(screen, JobScreen) else []
    for preview in screen.query(Preview) if screen is not None else ():
        if preview.display and app.deck.jobs.counts and app.cursor_job_id is not None:
            if preview.view is None:
                return True
            views.append(preview.view)
    return any(view.stream == "connecting" or view.detail is None for view in views)


async def walk(pilot: Pilot[int], *, over: bool = True) -> AsyncIterator[str]:
    """Gives the name of each screen while it is in view; ``over``: of what opens over another one, too."""
    for stop in STOPS:
        if stop.over and not over:
            continue
        await _go(pilot, stop.keys)
        await settle(pilot)
        yield stop.name
        await _go(pilot, stop.back)


async def _go(pilot: Pilot[int], keys: tuple[str, ...]) -> None:
    for key in keys:
        if ":" in key:
            await burst(pilot, *key)
        else:
            await press(pilot, key)


def seen(pilot: Pilot[int], *, styles: bool) -> str:
    """The screen as a snapshot keeps it: its lines, and what each run of cells looks like."""
    text = re.sub(r"127\.0\.0\.1:\d{5}", "127.0.0.1:PORT_", screen_text(pilot))
    lines = [line.rstrip() for line in text.split("\n")]
    if styles:
        lines += ["", *_styles(pilot)]
    return "\n".join(lines) + "\n"


def _styles(pilot: Pilot[int]) -> list[str]:
    """Line by line the runs that differ from the commonest look, as in ``3: 1-8 bold #ffffff on #101010``."""
    runs: list[list[tuple[int, int, str]]] = []
    for strip in pilot.app.screen._compositor.render_strips():
        line: list[tuple[int, int, str]] = []
        column = 0
        for text, style, _ in strip:
            look = re.sub(r"(link|meta)=\S+", "", str(style)) if style else ""
            end = column + len(text)
            if line and line[-1][2] == look:
                line[-1] = (line[-1][0], end, look)
            elif text:
                line.append((column, end, look))
            column = end
        runs.append(line)
    cells: dict[str, int] = {}
    for line in runs:
        for begin, end, look in line:
            cells[look] = cells.get(look, 0) + end - begin
    commonest = max(cells, key=lambda look: cells[look])
    described = [
        f"{number:>3}: "
        + " · ".join(f"{begin}-{end} {look}" for begin, end, look in line if look != commonest)
        for number, line in enumerate(runs, 1)
        if any(look != commonest for _, _, look in line)
    ]
    return [f"looks (all else {commonest}):", *described]
