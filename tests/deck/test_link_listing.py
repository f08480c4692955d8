"""What was there before the deck was opened is listed whole, whatever fails on the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobdeck_tui.app import DeckApp
from jobdeck_tui.reaching import Reaching

from .deck_driver import a_job, in_a_deck, press, screen_text
from .test_client_feed import AT, OVERVIEW
from .wayward import EVENT_STREAM, answer, frame

ROW = {
    "job_id": "from-the-list",
    "queue": "probe",
    "workflow": "probe",
    "state": "running",
    "status": "running",
    "priority": 0,
    "attempt": 1,
    "stages_done": 0,
    "version": 1,
    "accepted_at": AT,
    "slot_taken": True,
    "after": [],
    "thread_id": "t",
}
DRILL = {
    "id": "d",
    "fault": "worker-loss",
    "target": "w0",
    "state": "passed",
    "started_at": AT,
    "ended_at": AT,
    "timeline": [],
    "evidence": [],
}


@asynccontextmanager
async def failing_at_first(failures: int) -> AsyncIterator[str]:
    """A server whose feed lives and whose job list fails so many times; gives its URL."""
    left = failures

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        path = (await reader.readuntil(b"\r\n\r\n")).decode().split()[1]
        if "/events/stream" in path:
            writer.write(EVENT_STREAM + frame("overview", OVERVIEW))
            await reader.read()
        elif "/v1/ops/jobs" in path and left > 0:
            left -= 1
            writer.write(answer(500, {"detail": {"code": "broken", "message": "not now"}}))
        elif "/v1/ops/jobs" in path:
            writer.write(answer(200, {"jobs": [ROW], "total": 1, "matching": 1, "next": None}))
        else:
            writer.write(answer(200, {"drills": [DRILL]}))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@in_a_deck
async def test_a_listing_that_failed_is_tried_until_it_was_whole_and_what_is_gone_is_forgotten() -> None:
    async with failing_at_first(1) as url:
        app = DeckApp(Reaching(url))
        app.deck.take_jobs([a_job(1)])
        async with app.run_test(size=(100, 30)) as pilot:
            while "trying again: " not in screen_text(pilot):
                await pilot.pause(0.1)
            while not app.deck.drills:
                await pilot.pause(0.1)
            assert [job.job_id for job in app.deck.jobs] == ["from-the-list"]
            await press(pilot, "4")
            await pilot.pause(0.3)
            assert "DRILL worker-loss w0  PASSED" in screen_text(pilot)
