"""Dask seen by itself: any cluster without a backend, and one whose backend went away."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager

import pytest
from click.testing import CliRunner
from distributed import Client
from jobdeck_tui.app import DeckApp
from jobdeck_tui.cli import root
from jobdeck_tui.core.dask_words import has_desktop, why_tasks_wait
from jobdeck_tui.deck import Deck
from jobdeck_tui.reaching import Looking
from textual.pilot import Pilot

from .dask_cluster import dask_cluster
from .deck_driver import (
    a_deck,
    a_job,
    a_picture,
    an_overview,
    in_a_deck,
    lines,
    press,
    program,
    running,
    screen_text,
)
from .live_deck import until
from .wayward import answer, wayward

TASK_SECONDS = 2.0


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as addresses:
        yield addresses


@asynccontextmanager
async def looking_at(url: str, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[int]]:
    deck = Deck()
    deck.dashboard_url, deck.without_backend = url, True
    app = DeckApp(Looking(url), deck)
    app.deck.server_words, app.deck.badge = app.link._reach.words, Looking.badge
    async with asyncio.timeout(60), app.run_test(size=size, notifications=True) as pilot:
        yield pilot


@asynccontextmanager
async def busy(address: str, tasks: int) -> AsyncIterator[Callable[[], None]]:
    """Tasks that wait for each other's end; gives what lets them end."""
    go_on = threading.Event()

    def keep_busy() -> None:
        with Client(address, set_as_default=False) as client:
            futures = [client.submit(time.sleep, TASK_SECONDS, pure=False) for _ in range(tasks)]
            last = client.submit(len, futures)
            go_on.wait(50)
            client.cancel([*futures, last])

    thread = threading.Thread(target=keep_busy, daemon=True)
    thread.start()
    try:
        yield go_on.set
    finally:
        go_on.set()
        await asyncio.to_thread(thread.join, 20)


def test_a_foreign_cluster_is_shown_without_any_backend_and_nothing_is_acted_on(
    dask: tuple[str, str],
) -> None:
    async def go() -> None:
        async with looking_at(dask[1]) as pilot:
            await until(pilot, lambda: "✔ LIVE" in lines(pilot)[0] and "w0" in screen_text(pilot))
            assert "DASK ONLY" in lines(pilot)[0]
            assert "WHY  nothing waits" in screen_text(pilot)
            async with busy(dask[0], 6):
                await until(
                    pilot,
                    lambda: "tasks queued: ready, and every thread that" in screen_text(pilot),
                )
                assert any(
                    line.split()[1:4] == ["w0", "✔", "running"] for line in lines(pilot) if "▸" in line
                )
            await press(pilot, "D")
            await until(
                pilot, lambda: "Not sent: Only Dask's own dashboard is read here" in screen_text(pilot)
            )
            await press(pilot, "1")
            assert program(pilot).current_mode == "cluster"
            await press(pilot, "d")
            await until(
                pilot, lambda: "Bokeh there: install it where the scheduler runs" in screen_text(pilot)
            )

    asyncio.run(go())


def test_a_cluster_that_goes_away_is_said_to_be_gone_and_its_numbers_to_be_old(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async def go() -> None:
        with ExitStack() as going:
            _, url = going.enter_context(dask_cluster(tmp_path_factory.mktemp("going")))
            async with looking_at(url) as pilot:
                await until(pilot, lambda: "✔ LIVE" in lines(pilot)[0] and "w0" in screen_text(pilot))
                await asyncio.to_thread(going.close)
                await until(pilot, lambda: "↻ RETRY" in lines(pilot)[0] or "✖ OFFLINE" in lines(pilot)[0])
                told = ("Data as of", "Dask's dashboard does not answer.", "w0", "ago")
                await until(pilot, lambda: all(words in screen_text(pilot) for words in told))
                assert "nothing was read yet" not in screen_text(pilot)

    asyncio.run(go())


@in_a_deck
async def test_r37_without_the_backend_dask_is_still_read_and_not_compared_with_old_records() -> None:
    deck = a_deck([a_job(1)])
    async with running(deck, 120, 36) as pilot:
        await press(pilot, "2")
        deck.connection.lost(deck.monotonic(), deck.now(), "connection refused", 1.0)
        deck.take_picture(a_picture(queued=99))
        program(pilot).front().flush(everything=True)
        await pilot.pause()
        text = screen_text(pilot)
        assert "the backend does not answer" in text
        assert "Dask's own numbers are of now. Not compared." in text
        assert "99" in text
        assert deck.differences() == []


@in_a_deck
async def test_dasks_own_pages_are_copied_where_there_are_some() -> None:
    async with wayward([answer(200, b"<html>Bokeh</html>", "text/html")]) as server:
        deck = a_deck([a_job(1)])
        deck.dashboard_url = server.url
        async with running(deck) as pilot:
            program(pilot).link._wire.ready.set()
            await press(pilot, "2", "d")
            await until(pilot, lambda: f"{server.url}/status" in screen_text(pilot))


def test_the_page_without_bokeh_is_no_dashboard_and_over_ssh_nothing_is_opened() -> None:
    assert not has_desktop({"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"})
    assert has_desktop({"DISPLAY": ":0"})
    assert not has_desktop({})


def test_why_tasks_wait_is_said_by_dasks_own_states() -> None:
    picture = a_picture(queued=3, waiting=2, **{"no-worker": 1})
    first, second, third = why_tasks_wait(picture, picture.workers)
    assert first.startswith("1 task ready, and no worker fits")
    assert second == "3 tasks queued: ready, and every thread that takes work is taken (4)."
    assert third.startswith("2 tasks waiting")
    assert "no worker takes work" in why_tasks_wait(a_picture(queued=3), ())[0]


def test_a_dashboard_is_named_for_the_deck_only() -> None:
    said = CliRunner().invoke(root, ["--dask-dashboard", "http://127.0.0.1:1", "list"])
    assert said.exit_code == 2
    assert "is for the deck" in said.output
    assert CliRunner().invoke(root, ["--dask-dashboard", "nonsense"]).exit_code == 2


@in_a_deck
async def test_one_reason_at_80_columns_and_one_of_each_kind_with_room() -> None:
    jobs = [a_job(1, "queued"), a_job(2, "waiting"), a_job(3, "held"), a_job(4)]
    for size, count in (((80, 24), 1), ((120, 36), 3)):
        deck = a_deck(jobs)
        deck.take_overview(an_overview(jobs))
        async with running(deck, *size) as pilot:
            await press(pilot, "2")
            assert screen_text(pilot).count("WHY is") == count


@in_a_deck
async def test_the_cursor_stays_on_the_worker_it_was_drawn_on_when_another_one_comes_before_it() -> None:
    deck = a_deck()
    both = a_picture()
    deck.take_picture(both._replace(workers=both.workers[1:]))
    async with running(deck, 80, 24) as pilot:
        await press(pilot, "2")
        await until(pilot, lambda: " ▸ worker-1 " in screen_text(pilot))
        deck.take_picture(both)
        await until(pilot, lambda: "   worker-0 " in screen_text(pilot))
        assert " ▸ worker-1 " in screen_text(pilot)
        await press(pilot, "D")
        assert "  worker-1" in screen_text(pilot).partition("Drain 1 worker?")[2]
        await press(pilot, "escape")
        deck.take_picture(both._replace(workers=both.workers[:1]))
        await until(pilot, lambda: " ▸ worker-0 " in screen_text(pilot))
