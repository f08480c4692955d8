"""Acts from the deck on a real server: many at once, with a reason, already done, and without an answer."""

import asyncio
from collections.abc import Iterator

import pytest
from jobdeck_tui.cli import run
from jobdeck_tui.client.api import Api
from jobdeck_tui.core.acts import Phase, Tracked
from jobdeck_tui.screens.dialogs import Question, TypedQuestion
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.screens.reason import ReasonDialog
from jobdeck_tui.screens.verdict import VerdictDialog
from textual.pilot import Pilot

from .deck_driver import press, program, screen_text
from .live_deck import LONG, choose, deck_on, on_row, submit, until
from .lossy import lossy
from .processes import backend
from .test_deck_effects import held

WAITS = {"stages": [{"name": "only", "seconds": 0.1}]}
MANY = 23


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A backend whose queue ``still`` starts nothing."""
    with backend(tmp_path_factory.mktemp("bulk") / "state") as instance:
        asyncio.run(pause(instance.url))
        yield instance.url


async def pause(url: str, queue: str = "still", *, paused: bool = True) -> None:
    async with Api(url) as api:
        await api.set_paused(queue, paused=paused)


def newest(pilot: Pilot[int]) -> Tracked:
    return program(pilot).deck.acts.history()[0]


async def reasons(url: str) -> dict[str, tuple[str | None, str]]:
    async with Api(url) as api:
        return {act.job_id or "": (act.reason, act.result) for act in reversed(await api.audit(200))}


def test_over_twenty_jobs_are_dry_run_by_the_server_typed_and_seen_done_with_their_reason(url: str) -> None:
    async def go() -> None:
        for number in range(MANY):
            await submit(url, f"many-{number}", WAITS, queue="still")
        async with deck_on(url) as pilot:
            await press(pilot, "slash", *"id:many*", "enter")
            await until(pilot, lambda: f"{MANY} of" in screen_text(pilot))
            await press(pilot, "A", "c")
            await until(pilot, lambda: isinstance(pilot.app.screen, TypedQuestion))
            assert f"the server's dry run: {MANY} can be done." in screen_text(pilot)
            assert "many-0  probe  backlog" in screen_text(pilot), (
                "what it is for is listed, however many they are"
            )
            await press(pilot, *"22", "enter")
            assert isinstance(pilot.app.screen, TypedQuestion), "another number confirms nothing"
            await press(pilot, "backspace", "3", "tab", *"wrong", "enter")
            acts = program(pilot).deck.acts
            await until(pilot, lambda: [one.phase for one in acts.history()] == [Phase.SEEN] * MANY)
            await until(pilot, lambda: f"⊘ {MANY} cancelled" in screen_text(pilot))
        assert (await reasons(url))["many-7"] == ("wrong", "cancelled")

    asyncio.run(go())


def test_a_reason_is_asked_for_while_the_grace_stands_still(url: str) -> None:
    async def go() -> None:
        await submit(url, "explained", WAITS, queue="still")
        async with deck_on(url, (80, 24)) as pilot:
            await choose(pilot, "explained")
            await press(pilot, "c", "R")
            assert isinstance(pilot.app.screen, ReasonDialog)
            assert newest(pilot).awaits_reason
            await press(pilot, *"dup", "enter")
            await until(pilot, lambda: newest(pilot).phase is Phase.SEEN)
        assert (await reasons(url))["explained"] == ("dup", "cancelled")

    asyncio.run(go())


def test_r36_a_job_that_is_so_already_is_told_apart_from_one_that_changed(url: str) -> None:
    async def go() -> None:
        for job_id in ("done-before", "moved-on"):
            await submit(url, job_id, WAITS, queue="still", deadline_seconds=900)
        async with deck_on(url) as pilot:
            await choose(pilot, "moved-on")
            await choose(pilot, "done-before")
            await press(pilot, "p")
            async with Api(url) as api:
                await api.act("cancel", "done-before")
                await api.act("grant", "moved-on", extend_seconds=60)
            await press(pilot, "c", "c")
            await until(pilot, lambda: newest(pilot).phase is Phase.REFUSED)
            assert newest(pilot).text == "already done: it is CANCELLED; nothing was changed"
            await choose(pilot, "moved-on")
            await press(pilot, "c", "c")
            await until(
                pilot, lambda: newest(pilot).job_id == "moved-on" and newest(pilot).phase is Phase.REFUSED
            )
            assert "changed since you saw it; nothing was done" in newest(pilot).text
            assert "it is BACKLOG now" in newest(pilot).text

    asyncio.run(go())


def test_an_act_without_an_answer_is_unknown_until_the_deck_has_looked(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobdeck_tui.link.acts.LOOK_SECONDS", 0.1)

    async def go() -> None:
        for job_id in ("answer-lost", "request-lost"):
            await submit(url, job_id, WAITS, queue="still")
        async with lossy(url) as way, deck_on(way.url) as pilot:
            way.lose_answers_to, way.lose_requests_to = "answer-lost/cancel", "request-lost/cancel"
            await choose(pilot, "answer-lost")
            await press(pilot, "c", "c")
            await until(pilot, lambda: newest(pilot).phase is Phase.SEEN)
            assert newest(pilot).text.startswith("seen: CANCELLED")
            await choose(pilot, "request-lost")
            await press(pilot, "c", "c")
            await until(pilot, lambda: newest(pilot).phase is Phase.UNKNOWN)
            await until(pilot, lambda: newest(pilot).phase is Phase.REFUSED)
            assert newest(pilot).text == "no answer came; looked: not done, it is still BACKLOG"
            assert on_row(pilot, "request-lost", "BACKLOG")

    asyncio.run(go())


def test_a_resume_from_the_list_that_needs_a_verdict_opens_the_question(url: str) -> None:
    async def go() -> None:
        await asyncio.to_thread(held, url, "to-judge")
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-judge", "HELD"))
            await choose(pilot, "to-judge")
            await press(pilot, "r", "r")
            await until(pilot, lambda: isinstance(pilot.app.screen, VerdictDialog))
            await until(pilot, lambda: "Did effect charge of stage pay happen?" in screen_text(pilot))
            await press(pilot, "n")
            await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen))
            await until(pilot, lambda: "r lets the job go on" in screen_text(pilot))

    asyncio.run(go())


def test_the_command_line_acts_on_all_that_match_only_in_the_number_that_was_seen(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        asyncio.run(submit(url, f"lines-{number}", WAITS, queue="still"))
    cancel = ["cancel", "--matching", "id:lines*", "--server", url]
    for count in ((), ("--count", "0")):
        assert run(["cancel", "--matching", "id:nobody*", "--server", url, *count]) == 0
        assert capsys.readouterr().out == "Nothing was done: there is no job that cancel can be done to.\n"
    assert run(cancel) == 0
    out = capsys.readouterr().out.splitlines()
    assert sum("eligible" in line for line in out) == 3
    assert out[-1] == "A dry run, nothing was done. To do it: --count 3"
    assert run([*cancel, "--count", "2"]) == 4
    assert "can be done to 3 jobs, not to 2" in capsys.readouterr().err
    assert run([*cancel, "--count", "3", "--reason", "all wrong"]) == 0
    assert sum("done: cancelled" in line for line in capsys.readouterr().out.splitlines()) == 3
    assert asyncio.run(reasons(url))["lines-1"] == ("all wrong", "cancelled")
    assert run(["cancel", "lines-1", "--matching", "", "--server", url]) == 2
    assert run(["cancel", "--server", url]) == 2


def test_r37_jobs_that_start_while_the_question_stands_are_cancelled_all_the_same(url: str) -> None:
    ids = ("begins-0", "begins-1")

    async def go() -> None:
        await pause(url, "begins")
        for job_id in ids:
            await submit(url, job_id, LONG, queue="begins")
        async with deck_on(url) as pilot:
            await press(pilot, "slash", *"queue:begins", "enter")
            await until(pilot, lambda: all(on_row(pilot, job_id, "BACKLOG") for job_id in ids))
            await press(pilot, "A", "c")
            assert isinstance(pilot.app.screen, Question)
            jobs = program(pilot).deck.jobs
            seen = {job_id: jobs.get(job_id).version for job_id in ids}
            await pause(url, "begins", paused=False)
            await until(pilot, lambda: all(jobs.get(job_id).state == "running" for job_id in ids))
            assert all(jobs.get(job_id).version > version for job_id, version in seen.items())
            await press(pilot, "y")
            await until(pilot, lambda: all(on_row(pilot, job_id, "CANCELLED") for job_id in ids))
            acts = program(pilot).deck.acts.history()
            assert [act.phase for act in acts] == [Phase.SEEN] * 2

    asyncio.run(go())
    told = asyncio.run(reasons(url))
    assert {told[job_id][1] for job_id in ids} == {"cancel requested"}
