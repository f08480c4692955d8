"""A sentence that names a key names the one that holds: another one of the config file, too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import jobdeck_tui
import pytest
from jobdeck_tui.core.config import Config
from jobdeck_tui.opening import Opening
from textual.widgets import Input

from .deck_driver import Clock, a_deck, a_job, in_a_deck, lines, press, program, running, screen_text

HERE = Path(jobdeck_tui.__file__).parent
FIXED = {"dialogs.py", "verdict.py", "choice.py", "export.py", "reason.py", "help.py", "filter_line.py"}
"""Dialogs: no config file gives their keys away."""
DOES = (
    "undo|now|lists?|shows?|saves?|lets?|takes?|arms|filters?|goes|go|says?|restarts|seen|opens?|follows?|to"
)
NAMED = re.compile(rf"(?<![\w'’|])(?<!\d )(?![aA]\b)[A-Za-z!](?=\)|:? (?:{DOES})\b)")


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """What a module may show: its literal texts but for docstrings, bindings and signs of one or two letters."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bindings = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_binding(node)]
    skipped = {id(part) for call in bindings for part in ast.walk(call)}
    skipped |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def _is_binding(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "Binding"


def test_no_sentence_names_a_key_that_a_config_file_may_have_given_to_something_else() -> None:
    named = [
        f"{path.relative_to(HERE)}:{number}: {text}"
        for folder in ("", "core", "link", "screens", "text", "widgets")
        for path in sorted((HERE / folder).glob("*.py"))
        if path.name not in FIXED
        for number, text in sentences(path)
        if NAMED.search(text)
    ]
    assert named == []


@in_a_deck
async def test_sentences_name_the_keys_of_the_config_file() -> None:
    config = Config(
        keys={
            "act.cancel": "X",
            "undo": "ctrl+u",
            "alerts": "f5",
            "acknowledge": "f6",
            "mode.jobs": "f8",
            "verdict": "J",
        }
    )
    clock = Clock()
    jobs = [a_job(number) for number in range(3)]
    deck = a_deck(jobs, clock)
    deck.keep_jobs({job.job_id for job in jobs})
    async with running(deck, 100, 24, opening=Opening(config=config)) as pilot:
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "X")
        assert "cancel job00000-running in 3 s · ^u undo · X now" in screen_text(pilot)
        assert "· ^u undo" in next(line for line in lines(pilot) if "job00000-run" in line)
        deck.take_jobs([a_job(1, "failed", job_id="job00001-running", version=4)])
        program(pilot).front().flush()
        await pilot.pause()
        assert "f5 shows them, f6: seen" in screen_text(pilot)
        await press(pilot, "ctrl+u", "2")
        assert deck.key("verdict") == "J"
        assert deck.key("mode.jobs") == "f8"


@pytest.mark.parametrize(
    ("typed", "there", "gone"), [("range", "V  ", "EXPIRED"), ("held", "HELD", "Cancel ")]
)
def test_the_help_is_searched(typed: str, there: str, gone: str) -> None:
    @in_a_deck
    async def go() -> None:
        async with running(a_deck()) as pilot:
            await press(pilot, "question_mark", "slash", *typed)
            await pilot.pause()
            assert there in screen_text(pilot)
            assert gone not in screen_text(pilot)
            await press(pilot, "enter", "escape")
            await pilot.pause()
            assert not pilot.app.screen.query_one(Input).display
            assert "Keys: Jobs" in screen_text(pilot)
            await press(pilot, "escape")
            assert program(pilot).front() is pilot.app.screen

    go()
