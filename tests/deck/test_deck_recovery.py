"""The Recovery screen and its command line: the plan is read before it acts."""

import asyncio
import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from command_line import jobdeck
from jobdeck_tui.app import DeckApp
from jobdeck_tui.cli import run
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.recovery import PlanLine, Recovery, RecoveryPlan
from jobdeck_tui.reaching import Reaching
from running_backend import RunningBackend

from .deck_driver import (
    NOW,
    Clock,
    a_deck,
    a_job,
    an_overview,
    in_a_deck,
    lines,
    press,
    program,
    running,
    screen_text,
)
from .live_deck import detail, until
from .processes import backend, wait_until

SIZES = ((80, 24), (120, 36), (200, 50), (40, 10), (20, 5))
OWNER = Recovery("manual", "host:12", 3, 8.4, NOW - 90, "host:7")
LOST = "worker lost; resumes after stage read"
LINES = (
    PlanLine("job00000-lost", "resume from checkpoint", LOST, {"pid": 9}, automatic=False),
    PlanLine("job00001-live", "leave", "runs on w0, heartbeat 1 s ago", {}, automatic=False),
)


def a_recovery_deck(*actions: PlanLine):
    rows = [a_job(0), a_job(1)]
    deck = a_deck(rows, Clock())
    deck.take_overview(an_overview(rows, recovery=OWNER))
    deck.take_plan(RecoveryPlan(OWNER, actions, 4))
    return deck


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_recovery_screen_is_drawn_at_every_size(size: tuple[int, int]) -> None:
    @in_a_deck
    async def go() -> None:
        async with running(a_recovery_deck(*LINES), *size) as pilot:
            await press(pilot, "3")
            await pilot.pause()
            assert len(lines(pilot)) == size[1]

    go()


@in_a_deck
async def test_the_screen_shows_owner_epoch_lease_takeover_and_the_reason_of_each_action() -> None:
    async with running(a_recovery_deck(*LINES), 120, 36) as pilot:
        await press(pilot, "3")
        await pilot.pause()
        text = screen_text(pilot)
        for words in (
            "Recovery is manual. Owner host:12, epoch 3, lease for 8.4s more.",
            "Took over from host:7",
            "1 action, 1 left as they are, 4 in line.",
            "⏸ resume from checkpoint",
            "worker lost; resumes after stage read",
            "runs on w0, heartbeat 1 s ago",
            "a Apply the plan",
        ):
            assert words in text, words


@in_a_deck
async def test_a_plan_that_does_nothing_says_so_and_offers_no_key() -> None:
    async with running(a_recovery_deck(LINES[1]), 120, 36) as pilot:
        await press(pilot, "3")
        await pilot.pause()
        assert "✔ Nothing to recover." in screen_text(pilot)
        assert "Apply the plan" not in screen_text(pilot)
        await press(pilot, "a")
        await pilot.pause()
        assert program(pilot).screen is program(pilot).front()


@in_a_deck
async def test_applying_asks_first_and_enter_does_nothing() -> None:
    async with running(a_recovery_deck(*LINES), 120, 36) as pilot:
        await press(pilot, "3")
        await pilot.pause()  # a key pressed before the screen is drawn never acts
        await press(pilot, "a")
        await pilot.pause()
        assert "Recover 1 job?" in screen_text(pilot)
        assert "job00000-lost  resume from checkpoint" in screen_text(pilot)
        await press(pilot, "enter")
        assert program(pilot).screen is not program(pilot).front()
        await press(pilot, "escape")
        await pilot.pause()
        assert program(pilot).screen is program(pilot).front()


@in_a_deck
async def test_a_plan_for_many_asks_for_their_number() -> None:
    many = [PlanLine(f"job{number:05d}", "start", "worker lost", {}, automatic=False) for number in range(21)]
    async with running(a_recovery_deck(*many), 120, 36) as pilot:
        await press(pilot, "3")
        await pilot.pause()  # a key pressed before the screen is drawn never acts
        await press(pilot, "a")
        await pilot.pause()
        assert "Recover 21 jobs by the plan?" in screen_text(pilot)
        assert "Type 21 and press Enter" in screen_text(pilot)


# On a real backend, a worker really lost.

WORK = {"stages": [{"name": "first"}, {"name": "second", "seconds": 1.0}, {"name": "last"}]}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    """A backend whose recovery waits for its operator."""
    directory = tmp_path_factory.mktemp("recovery") / "state"
    with backend(directory, "--recovery", "manual") as started:
        yield started


def lose(instance: RunningBackend, job_id: str) -> None:
    """Submit a job and kill its worker in its second stage."""

    async def submit() -> None:
        async with Api(instance.url) as api:
            await api.submit({"agent_type": "probe", "input": json.dumps(WORK), "job_id": job_id})

    asyncio.run(submit())
    wait_until(lambda: detail(instance.url, job_id).job.stage == "second")
    pid = detail(instance.url, job_id).attempts[-1].pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: planned(instance, job_id) != "leave")


def planned(instance: RunningBackend, job_id: str) -> str | None:
    async def read() -> RecoveryPlan:
        async with Api(instance.url) as api:
            return await api.recovery_plan()

    return next((one.action for one in asyncio.run(read()).actions if one.job_id == job_id), None)


def test_a_lost_job_is_recovered_from_the_deck_by_its_plan(instance: RunningBackend) -> None:
    lose(instance, "from-deck")

    async def go() -> None:
        app = DeckApp(Reaching(instance.url))
        async with asyncio.timeout(100), app.run_test(size=(120, 36), notifications=True) as pilot:
            await until(pilot, lambda: "✔ LIVE" in screen_text(pilot))
            await press(pilot, "3")
            await until(pilot, lambda: "resumes after stage first" in screen_text(pilot))
            await press(pilot, "a")
            await until(pilot, lambda: "Recover 1 job?" in screen_text(pilot))
            await press(pilot, "y")
            await until(pilot, lambda: "1 done, 0 skipped." in screen_text(pilot))
            await until(pilot, lambda: "✔ Nothing to recover." in screen_text(pilot))

    asyncio.run(go())
    wait_until(lambda: detail(instance.url, "from-deck").job.outcome == "succeeded")
    assert [one.end_reason for one in detail(instance.url, "from-deck").attempts] == [
        "worker lost",
        "succeeded",
    ]


def test_reconcile_prints_the_plan_changes_nothing_and_applies_it_when_told(
    instance: RunningBackend, capsys
) -> None:
    lose(instance, "from-shell")
    server = ["--server", instance.url]
    assert run(["reconcile", *server]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Recovery is manual. Owner ")
    assert "from-shell  resume from checkpoint" in told
    assert "(waits for --apply)" in told
    assert "1 action, 0 left as they are, 0 in line." in told
    assert planned(instance, "from-shell") == "resume from checkpoint"
    assert run(["reconcile", "--json", *server]) == 0
    assert json.loads(capsys.readouterr().out)["actions"][0]["job_id"] == "from-shell"
    assert run(["reconcile", "--apply", *server]) == 0
    assert "1 done, 0 skipped." in capsys.readouterr().out
    wait_until(lambda: detail(instance.url, "from-shell").job.outcome == "succeeded")
    assert run(["reconcile", "--apply", *server]) == 0
    assert capsys.readouterr().out == "0 done, 0 skipped.\n"


def test_fsck_exits_0_when_all_holds_and_1_naming_what_does_not(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    at_rest = ("fsck", "--state-dir", str(directory))
    with backend(directory):
        assert jobdeck(*at_rest)[0].endswith(": clean.\n")
    assert json.loads(jobdeck(*at_rest, "--json")[0])["clean"], "no backend need run"
    by_hand = sqlite3.connect(directory / "jobdeck.db")
    by_hand.execute("UPDATE leases SET epoch = 0")
    by_hand.commit()
    by_hand.close()
    broken = "I8 epochs are of leases: all jobs: the recovery lease has epoch 0"
    assert broken in jobdeck(*at_rest, code=1)[0]


def test_fsck_of_what_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    at_rest = ("fsck", "--state-dir", str(tmp_path))
    assert jobdeck(*at_rest, code=13)[1] == f"jobdeck: there is no database in {tmp_path}\n"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "jobdeck.db").write_text("this is no database at all, only words" * 50)
    assert len(jobdeck(*at_rest, code=13)[1].splitlines()) == 1
