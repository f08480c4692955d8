"""R37: what the deck says of its own freshness, on a real server whose connection is made to fail in every way."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_tui.app import DeckApp
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.feed import Feed
from jobdeck_tui.reaching import Reaching
from textual.pilot import Pilot

from .deck_driver import lines, press, program, screen_text
from .live_deck import choose, deck_on, on_row, submit, until
from .lossy import lossy
from .processes import backend
from .wayward import answer, wayward

WAITS = {"stages": [{"name": "only", "seconds": 0.1}]}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A backend with a job that waits in a paused queue, and one that is done."""
    with backend(tmp_path_factory.mktemp("fresh") / "state") as instance:
        asyncio.run(prepare(instance.url))
        yield instance.url


async def prepare(url: str) -> None:
    async with Api(url) as api:
        await api.set_paused("still", paused=True)
    await submit(url, "waits", WAITS, queue="still")
    await submit(url, "done", WAITS)


def word(pilot: Pilot[int], expected: str) -> bool:
    return expected in lines(pilot)[0]


def acts(pilot: Pilot[int]) -> int:
    return len(program(pilot).deck.acts.history())


async def refuses(pilot: Pilot[int], link: str) -> None:
    """While it is not LIVE: the banner, dim rows, and no act, with the reason."""
    await until(pilot, lambda: "Data as of" in screen_text(pilot))  # drawn after the word above it
    assert "Actions are off until reconnected." in screen_text(pilot)
    assert program(pilot).screen.has_class("-stale")
    before = acts(pilot)
    await press(pilot, "c")
    await until(pilot, lambda: "Acts go out only when LIVE" in screen_text(pilot))
    assert link in screen_text(pilot)
    assert acts(pilot) == before


def test_r37_silence_is_stale_and_the_same_connection_is_live_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else the client gives the connection up after some seconds, which a busy machine needs to look and to press.
    monkeypatch.setitem(Feed.__init__.__kwdefaults__, "silence_seconds", 300.0)

    def is_live(pilot: Pilot[int]) -> bool:
        stale = "Data as of" in screen_text(pilot) or program(pilot).screen.has_class("-stale")
        return word(pilot, "✔ LIVE") and not stale

    async def go() -> None:
        async with lossy(url) as way, deck_on(way.url, (80, 24)) as pilot:
            await choose(pilot, "waits")
            way.flows.clear()
            await until(pilot, lambda: word(pilot, "⚠ STALE"))
            await refuses(pilot, "STALE")
            way.flows.set()
            await until(pilot, lambda: is_live(pilot))

    asyncio.run(go())


def test_r37_a_lost_server_is_retried_then_offline_and_nothing_is_counted_twice(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline_after(seconds: float) -> None:
        monkeypatch.setattr("jobdeck_tui.core.connection.OFFLINE_SECONDS", seconds)

    async def go() -> None:
        async with lossy(url) as way, deck_on(way.url, (80, 24)) as pilot:
            await until(pilot, lambda: on_row(pilot, "done", "DONE") and on_row(pilot, "waits", "BACKLOG"))
            await choose(pilot, "waits")
            deck = program(pilot).deck
            counts = dict(deck.counts())
            way.refuses = True
            offline_after(300.0)
            way.cut()
            await until(pilot, lambda: word(pilot, "↻ RETRY"))
            await refuses(pilot, "RETRY")
            offline_after(4.0)
            await until(pilot, lambda: word(pilot, "✖ OFFLINE since"))
            await refuses(pilot, "OFFLINE")
            await submit(url, "meanwhile", WAITS, queue="still")
            way.refuses = False
            await until(pilot, lambda: word(pilot, "✔ LIVE"))
            await until(pilot, lambda: on_row(pilot, "meanwhile", "BACKLOG"))
            assert dict(deck.counts()) == {**counts, "backlog": counts["backlog"] + 1}
            deck.feed.read(deck.now())
            told = [(line.job_id, line.seq) for line in deck.feed.lines.lines]
            assert len(told) == len(set(told)), "no event twice"
            await press(pilot, "c", "u")
            assert acts(pilot) == 1, "acts go out again"

    asyncio.run(go())


def test_r37_another_server_behind_the_same_address_is_never_taken_for_the_one_before(
    url: str, tmp_path: Path
) -> None:
    async def go() -> None:
        with backend(tmp_path / "state") as former:
            await prepare(former.url)
            async with lossy(former.url) as way, deck_on(way.url, (80, 24)) as pilot:
                await submit(former.url, "former", WAITS, queue="still")
                await until(pilot, lambda: on_row(pilot, "former", "BACKLOG"))
                for number in range(
                    20
                ):  # so many that a place in the former's log would be one in this log too
                    await submit(url, f"latter-{number}", WAITS, queue="still")
                program(pilot).deck.acts.grace_seconds = 60.0
                await choose(pilot, "former")
                await press(pilot, "c")
                way.lead_to(url)
                way.cut()
                await until(pilot, lambda: on_row(pilot, "latter-1", "BACKLOG"))
                assert "Other records answer there than before" in screen_text(pilot)
                assert "former" not in program(pilot).deck.jobs
                assert not program(pilot).deck.acts.graces(), "no act for a job of the former goes out"

    asyncio.run(go())


def test_r37_the_log_of_a_job_says_what_it_missed_and_holds_it_once(url: str) -> None:
    async def go() -> None:
        work = {"stages": [{"name": f"s{number}", "seconds": 0.6} for number in range(12)]}
        await submit(url, "watched", work)
        async with lossy(url) as way, deck_on(way.url) as pilot:
            await choose(pilot, "watched")
            await press(pilot, "enter")
            view = program(pilot).screen.view  # type: ignore[attr-defined]
            await until(pilot, lambda: view.stream == "live" and view.lines.last_seq > 3)
            way.refuses = True
            way.cut()
            await until(pilot, lambda: view.stream.startswith("lost"))
            seen = view.lines.last_seq
            async with Api(url) as api:
                while (await api.job("watched")).job.stages_done < 6:
                    await pilot.pause(0.1)
            way.refuses = False
            await until(pilot, lambda: f"reconnected: events {seen + 1}–" in screen_text(pilot))
            numbers = [line.seq for line in view.lines.lines if line.seq is not None]
            assert numbers == sorted(set(numbers)), "in order, none twice"
            async with Api(url) as api:
                await api.act("cancel", "watched")

    asyncio.run(go())


def test_r37_a_server_that_does_not_let_us_in_is_denied_not_lost() -> None:
    async def go() -> None:
        async with wayward([answer(401, {"detail": "who are you?"})]) as server:
            app = DeckApp(Reaching(server.url))
            async with asyncio.timeout(30), app.run_test(size=(80, 24)) as pilot:
                await until(pilot, lambda: word(pilot, "✖ DENIED 401"))
                said = "Nothing received yet. Actions are off until connected."
                await until(pilot, lambda: said in screen_text(pilot))
                await press(pilot, "c")
                assert acts(pilot) == 0

    asyncio.run(go())
