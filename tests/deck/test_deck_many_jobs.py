"""More jobs than a deck keeps: the server filters, sorts and pages them, and the deck says so."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from jobdeck_tui.client.api import Api
from jobdeck_tui.core.server_list import SERVER_SORTS, Query, ServerList, server_sort
from jobdeck_tui.core.sort import COLUMN_KEYS

from tests.many_jobs import PAUSED, WAITING_EACH, fill

from .deck_driver import burst, lines, press, program, screen_text
from .live_deck import deck_on, until
from .processes import backend

COUNT = 10_500
WAITING = COUNT // WAITING_EACH


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A backend with more jobs than a deck keeps."""
    state_dir = tmp_path_factory.mktemp("many") / "state"
    fill(state_dir, COUNT)
    with backend(state_dir, made_up=True) as instance:
        yield instance.url


def test_the_server_lists_them_and_the_deck_asks_for_what_it_shows(url: str) -> None:
    async def go() -> None:
        async with deck_on(url) as pilot:
            await until(pilot, lambda: f"server: first 500 of {COUNT:,}" in screen_text(pilot))
            deck = program(pilot).deck
            assert len(deck.jobs) == 500
            assert "FAILED" in lines(pilot)[6]  # by risk: what failed a moment ago, before what has time left
            await press(pilot, "slash")
            await burst(pilot, "state:failed queue:queue-1")
            assert "Enter asks the server" in screen_text(pilot)
            await press(pilot, "enter", "s")
            await until(
                pilot,
                lambda: "by id" in screen_text(pilot) and "server: all 150" in screen_text(pilot),
            )
            assert f"filter: state:failed queue:queue-1  150 of {COUNT}" in screen_text(pilot)

            def shown() -> list[str]:
                return list(deck.job_list.arrange(deck.now()))

            await until(pilot, lambda: len(shown()) == 150)  # the first hundred come before the others
            assert shown() == sorted(shown())
            await press(pilot, "S", "escape")
            await until(pilot, lambda: f"many-{COUNT - 1:06d}" in screen_text(pilot))
            await until(pilot, lambda: len(deck.jobs) == 500)
            await press(pilot, "G")
            await until(pilot, lambda: len(deck.jobs) == 1_000)
            await press(pilot, "A")
            assert f"not all {COUNT / 1000:.1f}k that match" in screen_text(pilot)
            await press(pilot, "o")
            await until(pilot, lambda: "Export 1000 rows of jobs" in screen_text(pilot))
            assert f"the rows that are here, not all {COUNT / 1000:.1f}k that match" in screen_text(pilot)

    asyncio.run(go())


def test_the_palette_finds_a_job_that_the_deck_does_not_keep_and_opens_it(url: str) -> None:
    async def go() -> None:
        async with deck_on(url) as pilot:
            await until(pilot, lambda: f"server: first 500 of {COUNT:,}" in screen_text(pilot))
            assert "many-004242" not in program(pilot).deck.jobs
            await press(pilot, "colon")
            await burst(pilot, "many-004242")
            await until(pilot, lambda: "job many-004242" in screen_text(pilot))
            await press(pilot, "enter")
            await until(pilot, lambda: lines(pilot)[1].startswith(" many-004242 ⊘ CANCELLED"))

    asyncio.run(go())


def test_how_many_are_marked_is_said_before_what_a_long_filter_leaves_no_room_for(url: str) -> None:
    async def go() -> None:
        async with deck_on(url, (80, 24)) as pilot:
            await until(pilot, lambda: f"server: first 500 of {COUNT:,}" in screen_text(pilot))
            await press(pilot, "slash")
            await burst(pilot, "state:failed queue:queue-1", "enter")
            await until(pilot, lambda: "server: all 150" in screen_text(pilot))
            await until(pilot, lambda: len(program(pilot).deck.jobs) == 150)
            await press(pilot, "s", "A")
            await until(pilot, lambda: "150 marked" in screen_text(pilot))

    asyncio.run(go())


def test_what_changes_and_what_is_new_comes_into_the_list(url: str) -> None:
    async def go() -> None:
        async with deck_on(url) as pilot:
            deck = program(pilot).deck
            await press(pilot, "slash")
            await burst(pilot, f"queue:{PAUSED}", "enter")
            await until(pilot, lambda: f"server: all {WAITING}" in screen_text(pilot))
            async with Api(url) as api:
                work = json.dumps({"stages": []})
                await api.submit(
                    {
                        "agent_type": "probe",
                        "input": work,
                        "job_id": "new-one",
                        "queue": PAUSED,
                        "deadline_seconds": 60,
                    }
                )
                await until(pilot, lambda: "new-one" in screen_text(pilot))
                await api.act("cancel", "new-one")
                await until(pilot, lambda: (job := deck.jobs.get("new-one")) and job.state == "cancelled")
                assert f"{WAITING + 1} of {COUNT + 1}" in screen_text(pilot)

    asyncio.run(go())


def test_another_filter_is_asked_at_once_a_change_after_a_pause_and_more_rows_near_their_end() -> None:
    listed = ServerList(20_000)
    assert listed.ask("", "risk", 0, 0.0) == Query("", "risk", 100)
    assert listed.ask("", "risk", 0, 50.0) is None  # the answer has not come
    listed.take(
        [f"job-{n}" for n in range(100)], total=20_000, matching=20_000, more=True, now=50.0, took=1.0
    )
    assert listed.ask("", "risk", 0, 50.0) == Query(
        "", "risk", 500
    )  # right behind what the operator waited for
    assert listed.ask("", "risk", 0, 51.0) is None  # while those are on their way, 100 rows are no list's end
    listed.take(
        [f"job-{n}" for n in range(500)], total=20_000, matching=20_000, more=True, now=60.0, took=1.0
    )
    assert listed.ask("", "risk", 300, 61.0) is None
    listed.changed()
    assert listed.ask("", "risk", 300, 69.0) is None  # ten times what it took is waited
    assert listed.ask("", "risk", 300, 71.0) == Query("", "risk", 500)
    listed.fail("gone", 72.0)
    assert "trying again: gone" in listed.words("risk")
    assert listed.ask("", "risk", 450, 72.1) == Query("", "risk", 1000)
    assert listed.ask("state:failed", "risk", 450, 72.2) == Query("state:failed", "risk", 100)
    assert listed.ask("state:failed", "-left", 0, 72.3) == Query("state:failed", "-left", 100)


def test_every_column_is_an_order_of_the_servers_or_the_deck_says_that_it_is_not() -> None:
    assert set(COLUMN_KEYS) - set(SERVER_SORTS) == {"note"}
    assert [server_sort("try", reverse=flag) for flag in (False, True)] == ["-try", "try"]
    assert server_sort("note", reverse=True) == "-risk"
    listed = ServerList(3)
    listed.take(["a"], total=3, matching=1, more=False, now=0.0, took=0.0)
    assert listed.words("note") == "server: all 1; it has no order by note, this is by risk"
