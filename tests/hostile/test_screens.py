"""R38: a server all of whose words are hostile; every screen, a terminal's very bytes, every reading command."""

import asyncio
import os
import re
from itertools import count
from unicodedata import category

import pytest
from command_line import ran
from jobdeck_tui.client.fields import NOTE_LIMIT
from jobdeck_tui.client.workers import LOG_LINE_LIMIT
from jobdeck_tui.core.columns import Column
from jobdeck_tui.screens.audit import AuditScreen
from jobdeck_tui.text.format import fit
from jobdeck_tui.text.sanitise import block, is_safe, one_line
from jobdeck_tui.widgets.text_pane import TextPane
from textual.pilot import Pilot

from tests.deck.deck_driver import lines, program
from tests.deck.pty_terminal import Terminal
from tests.deck.screen_walk import STOPS, deck_of, walk
from tests.deck.telling_server import told_beside
from tests.deck.world import World

from .corpus import HOSTILE

ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
WHOLE_ONCE = 5_000
"""A text longer than this is told whole once, then cut: a hundred times a megabyte is no other case."""
JOB = "job00000"
COMMANDS = (
    ("list",),
    ("show", JOB),
    ("queues",),
    ("failures", "--traceback"),
    ("audit",),
    ("reconcile",),
    ("log", "w0"),
)


def hostile_world(rows: int = len(HOSTILE)) -> World:
    numbers = count()

    def text(_plain: str) -> str:
        number = next(numbers)
        evil = HOSTILE[number % len(HOSTILE)]
        return evil if number < len(HOSTILE) else evil[:WHOLE_ONCE]

    return World(text, rows, jobs=rows)


def assert_harmless(pilot: Pilot[int], name: str) -> None:
    for strip in pilot.app.screen._compositor.render_strips():
        for text, style, _ in strip:
            acting = [character for character in text if category(character) in ACTING]
            assert acting == [], (name, text)
            assert style is None or (style.link is None and "@click" not in style.meta), (name, text)


def assert_told(pilot: Pilot[int], name: str, world: World) -> None:
    """Where a screen has room for whole texts, they are the sanitised ones, no more and no less."""
    screen = program(pilot).front()
    assert screen is not None
    if name == "worker-log":
        told = [one_line(line, LOG_LINE_LIMIT) for line in world.log["lines"]]
        assert screen.query_one(TextPane).plain == "\n".join(told)
    elif name == "job-report":
        assert screen.query_one("#report", TextPane).plain.startswith(block(world.report["report"])[:2_000])
    elif name == "audit":
        assert isinstance(screen, AuditScreen)
        width = next(
            one.width for one in screen.table._columns if isinstance(one, Column) and one.key == "note"
        )
        drawn = lines(pilot)
        for act in world.audit["acts"][: len(screen.table.visible_ids())]:
            result, reason = one_line(act["result"], NOTE_LIMIT), one_line(act["reason"], NOTE_LIMIT)
            words = f"{result}  ({reason})" if reason else result
            assert any(fit(words, width).rstrip() in line for line in drawn), words


def test_r38_every_screen_shows_hostile_words_as_harmless_text_and_nothing_else() -> None:
    async def go() -> list[str]:
        world = hostile_world()
        seen = []
        async with deck_of(world, 120, 80) as (pilot, _):
            async for name in walk(pilot):
                assert_harmless(pilot, name)
                assert_told(pilot, name, world)
                seen.append(name)
        return seen

    assert asyncio.run(go()) == [stop.name for stop in STOPS]


def test_r38_no_byte_that_reaches_a_terminal_comes_from_a_job() -> None:
    with told_beside(hostile_world()) as url:
        terminal = Terminal(url)
        terminal.read_until(b"LIVE")
        for key, shown in (
            (b"8", b"newest first"),
            (b"7", b"failed, of"),
            (b"5", b"events seen"),
            (b"6", b"queues"),
        ):
            os.write(terminal.main, key)
            terminal.read_until(shown)
        os.write(terminal.main, b"q")
        assert terminal.end() == 0
    sent = terminal.sent
    # Moves, looks, modes, and the shape of the mouse's pointer: what Textual itself has to say.
    ours = rb"\x1b\]22;[a-z]*\x07|\x1b\[(?:[\d;:]*[mHJ]|\?[\d;]+(?:[hlu]|\$p)|[<>=]?[\d;]*u|[\d;]*[nct])"
    left = re.sub(ours, b"", sent)
    assert re.findall(rb"\x1b.{0,20}", left) == []
    words = left.decode().replace("\r", "").replace("\n", "")
    assert {character for character in words if category(character) in ACTING} == set()


@pytest.fixture(scope="module")
def url():
    with told_beside(hostile_world()) as url:
        yield url


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one[0])
def test_r38_what_a_command_prints_of_a_hostile_server_is_text(url, command, options):
    code, said, complained = ran(*command, "--server", url, *options)
    assert code == 0, complained
    assert said
    assert is_safe(said, lines=True)
    assert complained == ""
