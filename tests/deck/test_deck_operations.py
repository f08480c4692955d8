"""Workers, queues and failures in the deck and on the command line, on a real backend."""

import asyncio
import json

import pytest
from jobdeck_tui.cli import run
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.models import Attempt, DaskWorker, JobDetail
from jobdeck_tui.client.workers import failure
from jobdeck_tui.core.failure_words import failure_rows
from jobdeck_tui.core.job_view import record_rows
from jobdeck_tui.screens.dialogs import Question
from jobdeck_tui.screens.failures import FailureScreen
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.text.sanitise import is_safe

from tests.hostile.corpus import HOSTILE

from .deck_driver import NOW, a_deck, in_a_deck, lines, press, program, running, screen_text
from .live_deck import deck_on, submit, until
from .processes import wait_until
from .rows import job as a_row

SIZES = ((80, 24), (120, 36), (200, 50), (40, 10), (20, 5))
LONG = {"stages": [{"name": "first", "seconds": 0.1}, {"name": "long", "seconds": 4}]}
BAD = {"stages": [{"name": "broken", "fail": True}]}


def ask(url: str, what: str, *arguments: object) -> object:
    async def go() -> object:
        async with Api(url) as api:
            return await getattr(api, what)(*arguments)

    return asyncio.run(go())


def workers(url: str) -> dict[str, DaskWorker]:
    return {worker.name: worker for worker in ask(url, "cluster").workers}  # type: ignore[attr-defined]


def state_of(url: str, job_id: str) -> str:
    return str(ask(url, "job", job_id).job.state)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_new_screens_are_drawn_at_every_size(size: tuple[int, int]) -> None:
    @in_a_deck
    async def go() -> None:
        async with running(a_deck(), *size) as pilot:
            for key in ("2", "6", "7", "8"):
                await press(pilot, key)
                await pilot.pause()
                assert len(lines(pilot)) == size[1]

    go()


def test_a_worker_is_drained_and_restarted_from_the_cluster_screen_after_a_question(url: str) -> None:
    async def go() -> None:
        await submit(url, "stays", LONG)
        async with deck_on(url) as pilot:
            await press(pilot, "2")
            await until(pilot, lambda: "✔ running" in screen_text(pilot))
            line = next(line for line in lines(pilot) if " ▸ w" in line)
            name = line.split()[1]
            await press(pilot, "D")
            assert isinstance(pilot.app.screen, Question)
            assert "Drain 1 worker?" in screen_text(pilot)
            assert "It takes nothing new until it is taken back or restarted." in screen_text(pilot)
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, Question), "enter confirms nothing"
            await press(pilot, "y")
            await until(pilot, lambda: f"worker {name} takes nothing new" in screen_text(pilot))
            await until(pilot, lambda: any(name in one and "⏸ drain" in one for one in lines(pilot)))
            await press(pilot, "D")
            await until(pilot, lambda: f"{name} is drain" in screen_text(pilot))
            await press(pilot, "U", "y")
            await until(pilot, lambda: f"worker {name} takes work again" in screen_text(pilot))
            await until(pilot, lambda: screen_text(pilot).count("✔ running") == 2)
            await press(pilot, "r", "y")
            await until(pilot, lambda: f"worker {name} is replaced" in screen_text(pilot))
            await until(pilot, lambda: not any(f" {name} " in one and "▸" in one for one in lines(pilot)))
            await until(pilot, lambda: screen_text(pilot).count("✔ running") == 2)
            await press(pilot, "w")
            await until(pilot, lambda: "reading …" not in screen_text(pilot))

    asyncio.run(go())
    wait_until(lambda: state_of(url, "stays") == "succeeded")


def test_a_queue_is_paused_and_let_go_on_from_the_queues_screen(url: str) -> None:
    async def go() -> None:
        await submit(url, "in-night", BAD, queue="night")
        async with deck_on(url, (80, 24)) as pilot:
            await press(pilot, "6")
            await until(pilot, lambda: any("night" in line and "✔ open" in line for line in lines(pilot)))
            for _ in range(3):
                if (
                    " r Unpause" not in screen_text(pilot)
                    and program(pilot).front().table.cursor_id != "night"
                ):  # type: ignore[union-attr]
                    await press(pilot, "j")
            assert " p Pause" in screen_text(pilot)
            await press(pilot, "p")
            await until(pilot, lambda: any("night" in line and "⏸ PAUSED" in line for line in lines(pilot)))
            said = "queue night is paused: what Dask holds goes on, the rest waits"
            await until(pilot, lambda: said in screen_text(pilot))
            await submit(url, "waits", BAD, queue="night")
            await until(pilot, lambda: any("night" in one and " 1 " in one for one in lines(pilot)))
            await press(pilot, "r")
            await until(pilot, lambda: "queue night is open, its jobs start" in screen_text(pilot))
            await until(pilot, lambda: any("night" in line and "✔ open" in line for line in lines(pilot)))
            await press(pilot, "enter")
            await until(pilot, lambda: "filter: queue:night" in screen_text(pilot))

    asyncio.run(go())
    wait_until(lambda: state_of(url, "waits") == "failed")


def test_a_failure_is_found_by_kind_and_opened_with_traceback_log_and_job(url: str) -> None:
    asyncio.run(submit(url, "failed-last", BAD))
    wait_until(lambda: state_of(url, "failed-last") == "failed")

    async def go() -> None:
        async with deck_on(url) as pilot:
            await press(pilot, "7")
            await until(
                pilot, lambda: any("ProbeFailure" in line and "broken" in line for line in lines(pilot))
            )
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, FailureScreen)
            await until(pilot, lambda: "Traceback (most recent call last)" in screen_text(pilot))
            pane = pilot.app.screen.query_one("#failure")
            await until(pilot, lambda: "LOG of w" in pane.plain and "job failed" in pane.plain)  # type: ignore[attr-defined]
            assert "newest failed-last" in pane.plain  # type: ignore[attr-defined]
            assert " failed at probe.py:" in pane.plain  # type: ignore[attr-defined]
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, JobScreen)
            record = pilot.app.screen.query_one("#record")
            await until(pilot, lambda: "✖ failed here:" in record.plain)  # type: ignore[attr-defined]
            await press(pilot, "escape", "escape")
            await until(pilot, lambda: "1 kind" in screen_text(pilot))

    asyncio.run(go())


def test_the_command_line_drains_restarts_and_reads_a_worker(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # The test before may have ended all there were.
    name = wait_until(
        lambda: next((name for name, one in workers(url).items() if one.state == "running"), None)
    )
    assert run(["drain", name, "--server", url, "--reason", "hot"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"worker {name} takes nothing new; nothing runs there"
    assert told[-1] == f"worker {name} is drained"
    assert run(["undrain", name, "--server", url]) == 0
    assert capsys.readouterr().out == f"worker {name} takes work again\n"
    assert run(["undrain", name, "--server", url]) == 4
    assert "is not drained (running)" in capsys.readouterr().err
    assert run(["restart", name, "--server", url, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["name"] == name
    assert workers(url)[answer["replaced_by"]].state == "running"
    assert run(["restart", name, "--server", url]) == 4
    assert "there is no worker" in capsys.readouterr().err
    worker = next(iter(workers(url)))
    assert run(["log", worker, "--server", url, "--json"]) in {0, 4}


def test_the_command_line_tells_failures_and_pauses_a_queue(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(submit(url, "told", BAD, queue="night"))
    wait_until(lambda: state_of(url, "told") == "failed")
    assert run(["failures", "--traceback", "--server", url]) == 0
    out = capsys.readouterr().out
    assert "ProbeFailure" in out
    assert "newest told" in out
    assert "Traceback (most recent call last)" in out
    assert run(["failures", "--json", "--server", url]) == 0
    assert json.loads(capsys.readouterr().out)["failures"][0]["example"]["job_id"] == "told"
    assert run(["pause", "night", "--server", url]) == 0
    assert "queue night is paused: no more of its jobs go to Dask; " in capsys.readouterr().out
    assert run(["queues", "--server", url]) == 0
    assert any(line.split()[:2] == ["night", "paused"] for line in capsys.readouterr().out.splitlines())
    assert run(["unpause", "night", "--json", "--server", url]) == 0
    assert json.loads(capsys.readouterr().out)["paused"] is False
    assert run(["unpause", "nihgt", "--server", url]) == 4
    assert "there is no queue nihgt; the queues are: night" in capsys.readouterr().err.replace("probe, ", "")
    assert run(["pause", "nihgt", "--server", url]) == 0
    assert "No job was ever in it. Queues with jobs: night" in capsys.readouterr().out


def test_r15_a_late_result_and_a_traceback_are_shown_with_their_attempt() -> None:
    attempt = Attempt(1, 1, "w0-e1", 7, 1, NOW, NOW, NOW, "late result", '{"report": "late"}', 9_000, None)
    detail = JobDetail(a_row(state="cancelled"), {}, (), (attempt,), (), (), None, "finished", "It ended.")
    shown = page(record_rows(detail))
    assert "late result kept aside: it came after the job was taken away" in shown
    assert "its beginning of 9000 characters" in shown
    failed = attempt._replace(late_result=None, traceback="Traceback\n  line 1", end_reason="failed")
    shown = page(record_rows(detail._replace(attempts=(failed,))))
    assert "✖ failed here:" in shown
    assert "late result kept aside" not in shown


def test_r38_a_hostile_failure_is_shown_as_text_only() -> None:
    for evil in HOSTILE:
        example = {
            "job_id": evil,
            "workflow": evil,
            "message": evil,
            "attempt": 1,
            "worker": evil,
            "traceback": f"{evil}\n{evil}",
        }
        kind = failure(
            {
                "error_type": evil,
                "stage": evil,
                "count": 2,
                "last_seen": "2026-01-01T00:00:00Z",
                "example": example,
            }
        )
        assert is_safe(page(failure_rows(kind, NOW)), lines=True), evil[:80]


def page(rows: object) -> str:
    return "\n".join("".join(text for text, _ in row) for row in rows)  # type: ignore[attr-defined]
