"""A deck on a real backend: opened, waited for, its jobs submitted and read."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from jobdeck_tui.app import DeckApp
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.models import JobDetail
from jobdeck_tui.reaching import Reaching
from jobdeck_tui.screens.jobs import JobsScreen
from textual.pilot import Pilot

from .deck_driver import lines, program, screen_text

LONG = {"stages": [{"name": "first", "seconds": 0.1}, {"name": "second", "seconds": 60}]}


@asynccontextmanager
async def deck_on(url: str, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Pilot[int]]:
    app = DeckApp(Reaching(url))
    async with asyncio.timeout(100), app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: "✔ LIVE" in screen_text(pilot))
        yield pilot


async def until(pilot: Pilot[int], condition: Callable[[], object], seconds: float = 40.0) -> None:
    """Waits for a condition, and shows the screen where it never holds."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await pilot.pause(0.1)
    except TimeoutError:
        pytest.fail("\n".join(lines(pilot)))


async def submit(url: str, job_id: str, work: dict[str, object], **more: object) -> None:
    async with Api(url) as api:
        await api.submit({"agent_type": "probe", "input": json.dumps(work), "job_id": job_id} | more)


def detail(url: str, job_id: str) -> JobDetail:
    """All that the server knows of a job."""

    async def read() -> JobDetail:
        async with Api(url) as api:
            return await api.job(job_id)

    return asyncio.run(read())


def on_row(pilot: Pilot[int], job_id: str, *words: str) -> bool:
    return any(job_id in line and all(word in line for word in words) for line in lines(pilot))


async def choose(pilot: Pilot[int], job_id: str) -> None:
    def chosen() -> bool:
        front = program(pilot).front()
        return isinstance(front, JobsScreen) and front.table.move_to_id(job_id)

    await until(pilot, chosen)
