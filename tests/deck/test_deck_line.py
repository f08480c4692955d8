"""Jobs moved in the line and submitted again, and everybody's acts, in the deck and on the command line."""

import asyncio
import json

import pytest
from jobdeck_tui.cli import run
from jobdeck_tui.client.api import Api
from jobdeck_tui.screens.dialogs import Question
from jobdeck_tui.screens.job import JobScreen

from .deck_driver import a_deck, a_job, in_a_deck, lines, press, program, running, screen_text
from .live_deck import LONG, choose, deck_on, detail, on_row, submit, until
from .processes import wait_until

ONE = {"stages": [{"name": "one"}], "output": "said"}


async def set_paused(url: str, *, paused: bool) -> None:
    async with Api(url) as api:
        await api.set_paused("line", paused=paused)


def test_a_waiting_job_is_moved_by_plus_and_minus_and_each_press_is_answered(url: str) -> None:
    async def go() -> None:
        await set_paused(url, paused=True)
        await submit(url, "to-move", ONE, queue="line")
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-move", "BACKLOG"))
            await choose(pilot, "to-move")
            deck = program(pilot).deck
            for key, priority in (("plus", 1), ("plus", 2), ("minus", 1)):
                await press(pilot, key)
                await until(pilot, lambda: deck.jobs.get("to-move").priority == priority)  # noqa: B023
                await until(pilot, lambda: f"to-move has priority {priority}" in screen_text(pilot))  # noqa: B023
        await set_paused(url, paused=False)

    asyncio.run(go())
    wait_until(lambda: detail(url, "to-move").job.state == "succeeded")


@in_a_deck
async def test_a_running_or_finished_job_has_no_place_in_the_line_and_is_told_so() -> None:
    async with running(a_deck([a_job(1, "running")])) as pilot:
        await choose(pilot, "job00001-running")
        await press(pilot, "plus")
        assert "is running: it has no place in the line" in screen_text(pilot)


def test_a_job_is_submitted_again_after_a_question_and_the_audit_shows_it(url: str) -> None:
    asyncio.run(submit(url, "to-repeat", ONE))
    wait_until(lambda: detail(url, "to-repeat").job.state == "succeeded")

    async def go() -> None:
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-repeat", "✔ DONE"))
            await choose(pilot, "to-repeat")
            await press(pilot, "a")
            assert isinstance(pilot.app.screen, Question)
            await press(pilot, "y")
            await until(pilot, lambda: "to-repeat was submitted again as " in screen_text(pilot))
            jobs = program(pilot).deck.jobs
            assert len(jobs) == 3
            await press(pilot, "8")
            await until(
                pilot, lambda: any("clone" in one and "submitted again" in one for one in lines(pilot))
            )
            assert any("pause" in one and "queue line paused" in one for one in lines(pilot))
            assert "(from the deck)" in screen_text(pilot)
            await press(pilot, "f")
            assert "0 acts refused" in screen_text(pilot)
            await press(pilot, "f", "g")
            await until(pilot, lambda: "enter Open the job" in screen_text(pilot))
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, JobScreen)

    asyncio.run(go())


def test_the_command_line_clones_moves_and_reads_the_audit(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(set_paused(url, paused=True))
    asyncio.run(submit(url, "from-cli", ONE, queue="line"))
    assert run(["clone", "from-cli", "--job-id", "copied", "--reason", "twice", "--server", url]) == 0
    assert capsys.readouterr().out.strip() == "copied"
    assert run(["clone", "from-cli", "--job-id", "copied", "--server", url]) == 4
    assert "Job already exists: copied. Nothing was changed." in capsys.readouterr().err
    assert run(["priority", "copied", "7", "--json", "--server", url]) == 0
    assert json.loads(capsys.readouterr().out)["priority"] == 7
    assert run(["priority", "copied", "8", "--version", "1", "--server", url]) == 4
    capsys.readouterr()
    assert run(["audit", "--act", "clone", "--job", "from-cli", "--server", url]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("refused: job_exists")
    assert told[1].endswith("submitted again as copied  (twice)")
    assert run(["audit", "--refused", "--limit", "1", "--json", "--server", url]) == 0
    (act,) = json.loads(capsys.readouterr().out)["acts"]
    assert (act["act"], act["result"]) == ("priority", "refused: changed")
    asyncio.run(set_paused(url, paused=False))
    wait_until(lambda: detail(url, "copied").job.state == "succeeded")


def test_r37_a_job_that_starts_within_the_grace_of_its_cancel_is_cancelled_all_the_same(url: str) -> None:
    asyncio.run(set_paused(url, paused=True))
    asyncio.run(submit(url, "starts-now", LONG, queue="line"))

    async def go() -> None:
        async with deck_on(url, (80, 24)) as pilot:
            await until(pilot, lambda: on_row(pilot, "starts-now", "BACKLOG"))
            await choose(pilot, "starts-now")
            await press(pilot, "c")
            seen = program(pilot).deck.acts.graces()[0].version
            await set_paused(url, paused=False)
            await until(pilot, lambda: on_row(pilot, "starts-now", "RUNNING"))
            assert program(pilot).deck.jobs.get("starts-now").version > seen
            await until(pilot, lambda: on_row(pilot, "starts-now", "CANCELLED"))

    asyncio.run(go())
    assert detail(url, "starts-now").job.state == "cancelled"
