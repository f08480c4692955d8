"""Drives the real deck without a server: facts are fed to its memory, keys are pressed, lines are read."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from jobdeck_tui.app import DeckApp
from jobdeck_tui.client.drills import Drill, DrillEvidence, DrillStep
from jobdeck_tui.client.models import (
    FINISHED,
    STATES,
    DaskPicture,
    DaskWorker,
    Event,
    Job,
    Overview,
    Scheduler,
)
from jobdeck_tui.client.storage import StorageState
from jobdeck_tui.deck import Deck
from jobdeck_tui.opening import Opening
from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot

KEY_NAMES = {"enter", "backspace", "escape", "tab"}
NOW = 1_796_000_000.0


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wall(self) -> float:
        return NOW + self.seconds

    def monotonic(self) -> float:
        return 1000.0 + self.seconds


def a_job(number: int, state: str = "running", **fields: Any) -> Job:
    """One row; ``number`` makes its id and its deadline."""
    finished, running = state in FINISHED, state == "running"
    row: dict[str, Any] = {
        "job_id": f"job{number:05d}-{state}",
        "queue": "contract_review",
        "workflow": "contract_review",
        "state": state,
        "status": "running" if running else "submitted",
        "outcome": state if finished else None,
        "reason": None,
        "deadline": NOW + 100 + number,
        "predicted_finish": None,
        "slack": None,
        "priority": 0,
        "attempt": 1,
        "epoch": 1,
        "worker": "worker-0" if running else None,
        "stage": "extract_clauses" if running else None,
        "stages_done": 1,
        "stages_total": 4,
        "heartbeat_age": 1.0 if running else None,
        "version": 3,
        "accepted_at": NOW - 100,
        "started_at": NOW - 50 if running else None,
        "finished_at": NOW - 2000 if finished else None,
        "cancel_requested_at": None,
        "cancel_acknowledged_at": None,
        "slot_taken": running,
        "after": (),
        "thread_id": f"thread-{number}",
        "note": None,
        "error": None,
    }
    return Job(**{**row, **fields})


def one_of_each() -> list[Job]:
    """A job in every state."""
    return [a_job(number, state) for number, state in enumerate(STATES)]


def an_overview(jobs: Sequence[Job], **fields: Any) -> Overview:
    """The snapshot that goes with these rows."""
    counts = {**dict.fromkeys(STATES, 0), **Counter(job.state for job in jobs), "overdue": 0, "at_risk": 0}
    row: dict[str, Any] = {
        "at": NOW,
        "scheduler": Scheduler("up", "tcp://127.0.0.1:8786", 1, "Scheduler-a", 0.1, "http://127.0.0.1:9"),
        "workers": 2,
        "slots_total": 4,
        "slots_taken": counts["running"],
        "counts": counts,
        "delivered": counts["waiting"] + counts["queued"] + counts["assigned"],
        "drain_seconds": None,
        "paused": (),
        "drills_allowed": True,
        "read_only": False,
        "storage": StorageState("ok", None),
    }
    return Overview(**{**row, **fields})


def a_picture(at: float = NOW, **tasks: int) -> DaskPicture:
    """What Dask says."""
    workers = tuple(
        DaskWorker(f"worker-{number}", f"tcp://127.0.0.1:{number}", None, 2, 2, 3, 120 << 20, 0.4)
        for number in range(2)
    )
    return DaskPicture("Scheduler-a", {"waiting": 1, "queued": 1, "processing": 2, **tasks}, workers, at)


def an_event(
    seq: int, kind: str = "tool.start", job_id: str = "job00000-running", **payload: object
) -> Event:
    """A stored event."""
    return Event(job_id, seq, kind, NOW + seq, "a_tool", payload)


def told(event: Event) -> str:
    """An event as it comes."""
    at = None if event.at is None else datetime.fromtimestamp(event.at, UTC).isoformat()
    return json.dumps({**event._asdict(), "at": at})


def a_drill() -> Drill:
    """A drill that passed."""
    steps = (
        DrillStep(NOW, "injected", "scheduler killed (pid 12)", None, 0.0, None),
        DrillStep(NOW + 0.2, "noticed", "loss noticed", 0.5, 0.2, "ok"),
        DrillStep(NOW + 9.0, "running", "all running again", 5.0, 9.0, "late"),
    )
    evidence = (DrillEvidence("job00000-running", ("read",), ("read", "report"), 0, "running", 2),)
    return Drill("d1", "scheduler-loss", None, "passed", NOW, NOW + 9, steps, evidence)


def a_deck(jobs: Sequence[Job] | None = None, clock: Clock | None = None) -> Deck:
    """A deck that is LIVE and knows these jobs (default: one in each state)."""
    clock = clock or Clock()
    deck = Deck(clock.wall, clock.monotonic)
    deck.server_words = "127.0.0.1:8700"
    rows = one_of_each() if jobs is None else jobs
    deck.take_jobs(rows)
    deck.take_overview(an_overview(rows))
    deck.take_picture(a_picture())
    deck.take_frame()
    return deck


class NoServer:
    """A server that is never reached."""

    async def reach(self, say: Callable[[str], None]) -> str:
        await asyncio.Event().wait()
        return ""

    def trouble(self) -> str | None:
        return None


@asynccontextmanager
async def running(
    deck: Deck, columns: int = 80, rows: int = 24, *, opening: Opening | None = None
) -> AsyncIterator[Pilot[int]]:
    """The deck, drawn at a size, with no server to reach; opened as told."""
    app = DeckApp(NoServer(), deck)
    if opening is not None:
        opening.prepare(app)
    async with app.run_test(size=(columns, rows), notifications=True) as pilot:
        while (screen := app.front()) is None or not screen.stands:
            await pilot.pause()
        screen.flush(everything=True)
        await pilot.pause()
        yield pilot


async def burst(pilot: Pilot[int], *keys: str) -> None:
    """Sends keys as one piece, none waiting for the one before; words are their characters."""
    driver = pilot.app._driver
    assert driver is not None
    for key in keys:
        if len(key) > 1 and key in KEY_NAMES:
            driver.send_message(Key(key, None))
        else:
            for character in key:
                driver.send_message(
                    Key(character if character.isalnum() else _character_to_key(character), character)
                )
    await pilot.pause()
    await pilot.pause(0.1)


def lines(pilot: Pilot[int]) -> list[str]:
    """The terminal's lines as text."""
    app = pilot.app
    return ["".join(s.text for s in strip) for strip in app.screen._compositor.render_strips()]


def screen_text(pilot: Pilot[int]) -> str:
    """The whole terminal as text."""
    return "\n".join(lines(pilot))


def program(pilot: Pilot[int]) -> DeckApp:
    """The running deck."""
    assert isinstance(pilot.app, DeckApp)
    return pilot.app


def in_a_deck(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Lets pytest run a coroutine."""

    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), 60))

    run.__name__ = test.__name__
    return run


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Presses each key as somebody who saw the screen, and waits until the process rests."""
    for key in keys:
        await _drawn(pilot)
        await pilot.press(key)


async def hit(pilot: Pilot[int], letter: str) -> None:
    """Presses a letter as somebody who saw the screen, and waits until it did what it does.

    Where there are hundreds of them, waiting for the process to rest would be all that a test does.
    """
    app = await _drawn(pilot)
    assert app._driver is not None
    app._driver.send_message(Key(letter, letter))
    await pilot._wait_for_screen()


async def _drawn(pilot: Pilot[int]) -> DeckApp:
    """Waits until the screen in view is drawn: a key pressed before would not be taken."""
    app = program(pilot)
    async with asyncio.timeout(20):
        while app._drawn is not app.screen:
            await pilot.pause(0.02)
    return app
