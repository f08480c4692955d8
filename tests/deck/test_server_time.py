"""Deadlines and ages are the server's, in the deck and on the command line, whatever this machine's clock says.

The server that tells a ``World`` stands still at its own time, which is never this machine's.
"""

import re
import time
from collections.abc import Iterator

import pytest
from command_line import jobdeck
from jobdeck_tui.app import DeckApp
from jobdeck_tui.core.drill_words import Fault
from jobdeck_tui.core.fuse import ARMED_SECONDS
from jobdeck_tui.core.server_clock import APART_SECONDS, SNAPSHOTS_KEPT, ServerClock
from jobdeck_tui.deck import Deck
from jobdeck_tui.reaching import Reaching

from .deck_driver import NOW, a_deck, a_job, an_overview, in_a_deck, lines, press, program, running
from .deck_driver import Clock as Standing
from .live_deck import on_row, until
from .telling_server import TellingServer, telling, told_beside
from .world import World

SLOW_SECONDS = 20
"""A test on a busy machine sees the server's time at most so much later than it asked."""


class Clock(Standing):
    """Its time of day can be stepped, as by an administrator; its monotonic one only goes on."""

    stepped = 0.0

    def wall(self) -> float:
        return super().wall() + self.stepped


def left(line: str) -> float:
    """Seconds of the countdown in a line."""
    minutes, seconds = map(int, re.findall(r" -(\d\d):(\d\d)", line)[0])
    return 60 * minutes + seconds


@pytest.fixture(scope="module")
def far_away() -> Iterator[str]:
    """A server whose clock is hours or years from this machine's."""
    assert abs(time.time() - NOW) > 60
    with told_beside(World()) as url:
        yield url


def test_the_lists_countdown_is_to_the_servers_instant(far_away: str) -> None:
    told, _ = jobdeck("list", "--server", far_away)
    (first,) = [line for line in told.splitlines() if line.startswith("job00000")]
    assert 100 - SLOW_SECONDS < left(first) <= 100
    by_left, _ = jobdeck("list", "--sort", "left", "--server", far_away)
    assert [line[:8] for line in by_left.splitlines()[1:4]] == ["job00000", "job00001", "job00002"]


def test_one_jobs_countdown_and_its_files_ages_are_the_servers(far_away: str) -> None:
    held = World().detail["job"]["job_id"]
    told, _ = jobdeck("show", held, "--server", far_away)
    (deadline,) = [line for line in told.splitlines() if line.startswith("deadline")]
    assert 285 - SLOW_SECONDS < left(deadline) <= 285
    files, _ = jobdeck("artifacts", held, "--server", far_away)
    ages = [int(age) for age in re.findall(r"  (\d+)s$", files, re.MULTILINE)]
    assert [70 <= age < 70 + SLOW_SECONDS for age in ages] == [True, True]


def test_events_are_filtered_by_their_age_on_the_server(far_away: str) -> None:
    at_all, _ = jobdeck("events", "--seconds", "1", "--server", far_away)
    young, _ = jobdeck("events", "--seconds", "1", "--filter", "age<300s", "--server", far_away)
    assert young == at_all != ""
    assert jobdeck("events", "--seconds", "1", "--filter", "age>300s", "--server", far_away)[0] == ""


@in_a_deck
async def test_the_decks_countdown_and_ages_are_the_servers_and_the_difference_is_said() -> None:
    async with telling(TellingServer(World())) as server:
        app = DeckApp(Reaching(server.url), Deck())
        async with app.run_test(size=(120, 36)) as pilot:
            await until(pilot, lambda: on_row(pilot, "job00000", "BACKLOG"))
            row, *_preview = [line for line in lines(pilot) if line[3:].startswith("job00000")]
            assert 100 - SLOW_SECONDS < left(row) <= 100
            assert " 2m " in row, "how long ago it was accepted"
            assert re.search(r" clock [+-]\d+", lines(pilot)[0])


@in_a_deck
async def test_a_step_of_this_machines_clock_bends_no_deadline_and_is_said() -> None:
    clock = Clock()
    async with running(a_deck([a_job(20)], clock), 120, 36) as pilot:
        deck = program(pilot).deck
        assert "clock" not in lines(pilot)[0]
        clock.stepped = 3600.0
        clock.seconds = 1.0
        deck.take_overview(an_overview([a_job(20)], at=NOW + 1.0))
        deck.take_frame()
        program(pilot).front().flush(everything=True)
        await pilot.pause()
        assert on_row(pilot, "job00020", "-01:59")
        assert " clock +60m " in lines(pilot)[0]


@in_a_deck
async def test_a_grace_and_a_fuse_last_as_long_as_they_say_although_the_servers_clock_is_set() -> None:
    clock = Clock()
    async with running(a_deck([a_job(20)], clock), 120, 36) as pilot:
        deck = program(pilot).deck
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "c")
        deck.fuse.arm(Fault("scheduler-loss", None, "lose the scheduler", "all of it"))
        for told in (NOW + 3600, *[NOW - 3600] * SNAPSHOTS_KEPT):
            deck.take_overview(an_overview([a_job(20)], at=told))
            program(pilot).send_due_acts()
            assert [tracked.due_at - deck.now() for tracked in deck.graces()] == [3.0]
            assert deck.fuse.left() == ARMED_SECONDS
        assert deck.now() == NOW - 3600


def test_a_snapshot_that_comes_late_never_sets_the_servers_time_back() -> None:
    clock = Clock()
    server = ServerClock(clock.wall, clock.monotonic)
    server.told(NOW + 500)
    clock.seconds = 5.0
    server.told(NOW + 501)  # it was four seconds on its way
    assert server.now() == NOW + 505
    for second in range(SNAPSHOTS_KEPT):
        clock.seconds = 6.0 + second
        server.told(NOW + 100 + clock.seconds)  # the server's own clock was set back, for good
    assert server.now() == NOW + 100 + clock.seconds


@pytest.mark.parametrize("off", [-APART_SECONDS + 0.1, 0.0, APART_SECONDS - 0.1])
def test_what_a_snapshot_takes_to_come_is_no_difference_of_clocks(off: float) -> None:
    clock = Clock()
    server = ServerClock(clock.wall, clock.monotonic)
    server.told(NOW + off)
    assert (server.now(), server.apart) == (NOW, 0.0)
