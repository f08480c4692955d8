"""The deck as a process in a real terminal: what it leaves behind, what it sends, when it refuses."""

import base64
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import PROGRAM
from jobdeck_tui.reaching import Reaching
from jobdeck_tui.running import run_on
from jobdeck_tui.safety import crash_report
from running_backend import RunningBackend

from tests.deck.processes import wait_until
from tests.deck.pty_terminal import NOBODY, Terminal

RESTORED = (b"\x1b[?1049l", b"\x1b[?25h")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGINT, 130)],
)
def test_a_signal_restores_the_terminal_and_tells_by_the_exit_code(number: int, code: int) -> None:
    terminal = Terminal()
    terminal.read_until(b"jobdeck")
    terminal.read_until(b"RETRY")
    terminal.process.send_signal(number)
    assert terminal.end() == code
    for sequence in RESTORED:
        assert sequence in terminal.sent


def test_ctrl_c_leaves_cleanly() -> None:
    terminal = Terminal()
    terminal.read_until(b"RETRY")
    os.write(terminal.main, b"\x03")
    assert terminal.end() == 0
    assert RESTORED[0] in terminal.sent


def test_a_deck_whose_terminal_is_gone_ends_though_nobody_sends_it_a_signal() -> None:
    deck = Terminal()
    deck.read_until(b"\x1b[?1049h")
    os.close(deck.main)
    assert deck.process.wait(10) != 0


def test_no_color_sends_no_colour_at_all_and_q_leaves_cleanly() -> None:
    terminal = Terminal(NO_COLOR="1")
    terminal.read_until(b"RETRY")
    os.write(terminal.main, b"q")
    assert terminal.end() == 0
    assert RESTORED[0] in terminal.sent
    for sequence in (b"38;2;", b"48;2;", b"38;5;", b"48;5;", b"\x1b[31m"):
        assert sequence not in terminal.sent


@pytest.mark.parametrize(
    ("command", "says", "variables"),
    [
        ([], (b"ended with it; all is kept in ", b"'jobdeck' shows it again, and unfinished jobs go on"), {}),
        # The demo works on any machine, whatever its servers are told.
        (
            ["demo"],
            (b"its jobs removed, with /", b"'jobdeck demo' begins anew; 'jobdeck' opens"),
            {"JOBDECK_AUTH": "true"},
        ),
    ],
    ids=["a backend of its own", "the demo"],
)
def test_q_tells_what_was_ended_with_the_deck_and_what_is_kept(
    command: list[str], says: tuple[bytes, ...], variables: dict[str, str]
) -> None:
    terminal = Terminal(program=[*PROGRAM[1:], *command], **variables)
    terminal.read_until(b"LIVE", seconds=60)
    os.write(terminal.main, b"q")
    assert terminal.end() == 0
    told = terminal.sent.rpartition(RESTORED[0])[2]
    for words in says:
        assert words in told
    assert b"Traceback" not in told


def a_terminal(*, drawn_on: bool) -> SimpleNamespace:
    """The standard streams of a process on a terminal, or on none."""
    stream = SimpleNamespace(isatty=lambda: drawn_on)
    return SimpleNamespace(stdin=stream, stderr=stream)


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_draw_is_told_so_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("jobdeck_tui.safety.sys", a_terminal(drawn_on=True))
    assert run_on(Reaching(NOBODY)) == 2
    said = "".join(capsys.readouterr())
    assert "\x1b" not in said
    assert "jobdeck list" in said


def test_without_a_terminal_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("jobdeck_tui.safety.sys", a_terminal(drawn_on=False))
    assert run_on(Reaching(NOBODY)) == 2
    said = "".join(capsys.readouterr())
    assert "\x1b" not in said
    assert "needs a terminal" in said


def test_a_crash_report_shows_no_variable() -> None:
    from rich.console import Console

    console = Console(width=100, force_terminal=True)
    token = "-".join(["secret", "in", "a", "local"])
    try:
        raise ValueError(len(token))
    except ValueError:
        report = "".join(segment.text for segment in crash_report(console).segments)
    assert "ValueError" in report
    assert Path(__file__).name in report
    assert token not in report


def test_many_failures_ring_once_a_copy_is_sent_and_the_mouse_is_let_go(backend: RunningBackend) -> None:
    terminal = Terminal(backend.url, TMUX="")
    terminal.read_until(b"LIVE")
    terminal.read_until(b"Filter")
    log = Path(terminal.state.name) / "deck.log"
    wait_until(lambda: log.exists() and "jobs listed" in log.read_text())
    for number in range(4):
        backend.submit({"name": "read", "fail": True}, job_id=f"rings-{number}")
    terminal.read_until(b"4 new")
    terminal.read_until(b"rings-")
    assert 1 <= terminal.sent.count(b"\x07") <= 2
    os.write(terminal.main, b"m")
    terminal.read_until(b"\x1b[?1003l")
    os.write(terminal.main, b"y")
    terminal.read_until(b"\x1b]52;c;" + base64.b64encode(b"rings-"))
    assert (Path(terminal.state.name) / "copied.txt").read_text().startswith("rings-")
    os.write(terminal.main, b"q")
    assert terminal.end() == 0
    assert "deck ends with exit code 0" in log.read_text()
