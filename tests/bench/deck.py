"""The deck in a terminal of 120×36: how soon it shows, what it costs idle and with 10,000 jobs under change.

Each update is a grant: a new row of a job, and a stored event of it. How late the event loop is under them is
seen from within (``watched_deck``), by a deck of its own, for looking costs something too.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.bench.figures import Figure, percentile, rounds
from tests.bench.server import Server, wait_until
from tests.bench.submitting import started
from tests.bench.watched_deck import loop_lags_ms

ROWS, COLUMNS = 36, 120
JOBS = 10_000
UPDATES_PER_SECOND = 500
HARD_UPDATES_PER_SECOND = 1_000
WATCHED_S = 10.0
SETTLED_S = 5.0
PAUSED = "bench-paused"
PROGRAM = "from jobdeck_tui.cli import main; main()"
BARE_PROGRAM = """
from textual.app import App
from textual.widgets import Static

class Bare(App[None]):
    def compose(self):
        yield Static("jobdeck")

Bare().run()
"""
"""The least that Textual can draw: what a deck could never be faster than on this machine."""


class Terminal:
    """A deck on a pseudo terminal whose output is read and kept."""

    def __init__(self, command: Sequence[str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.started_at = time.perf_counter()
        self.deck = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        )
        os.close(slave)
        self.process = psutil.Process(self.deck.pid)
        self.shown_at: float | None = None
        self._seen = b""
        self._drawn = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def shows(self, pattern: str) -> bool:
        """Whether something like it was drawn since the start."""
        return re.search(pattern.encode(), self._seen) is not None

    def show_events(self) -> None:
        """Goes to the events, and waits until all that are kept were read."""
        os.write(self._master, b"5")
        wait_until(lambda: self.shows(r" kept  \w+ "), 20)
        wait_until(lambda: b"being read" not in self._seen[self._seen.rindex(b" kept  ") :][:60], 60)

    def answer_s(self, key: bytes) -> float:
        """From a key, given in a moment of rest, until something of its effect is drawn."""
        self._rest()
        began = time.perf_counter()
        os.write(self._master, key)
        assert self._drawn.wait(5)
        return time.perf_counter() - began

    def type(self, keys: bytes) -> None:
        """Gives keys, and waits until nothing more is drawn of them."""
        os.write(self._master, keys)
        assert self._drawn.wait(5)
        self._rest()

    def painted_s(self, key: bytes, *words: str) -> float:
        """From a key, given in a moment of rest, until all of these words were drawn anew."""
        self._rest()
        self._seen = b""
        began = time.perf_counter()
        os.write(self._master, key)
        wait_until(lambda: all(word.encode() in self._seen for word in words), 20, look_s=0.001)
        return time.perf_counter() - began

    def _rest(self) -> None:
        while self._drawn.wait(0.05):
            self._drawn.clear()

    def close(self) -> None:
        """End the deck."""
        self.deck.send_signal(signal.SIGTERM)
        self.deck.wait(10)

    def _read(self) -> None:
        while self.deck.poll() is None:
            if not select.select([self._master], [], [], 0.5)[0]:
                continue
            try:
                self._seen = (self._seen + os.read(self._master, 1 << 16))[-(1 << 20) :]
            except OSError:
                return
            self._drawn.set()
            if self.shown_at is None and b"jobdeck" in self._seen:
                self.shown_at = time.perf_counter()


@contextmanager
def opened(server: Server, lags: Path | None = None) -> Iterator[Terminal]:
    """A deck that is live; with ``lags``, one that writes there how late its loop is."""
    if lags is None:
        command = [sys.executable, "-c", PROGRAM, "--server", server.url]
    else:
        command = [sys.executable, "-m", "tests.bench.watched_deck", server.url, str(lags)]
    terminal = Terminal(command)
    try:
        wait_until(lambda: terminal.shows("LIVE"), 20)
        yield terminal
    finally:
        terminal.close()


def cpu_percent(terminal: Terminal, seconds: float) -> float:
    """Share of one core that the deck used meanwhile."""
    before, began = terminal.process.cpu_times(), time.monotonic()
    wait_until(lambda: time.monotonic() - began > seconds, seconds + 5, look_s=0.1)
    after = terminal.process.cpu_times()
    return 100 * (after.user + after.system - before.user - before.system) / (time.monotonic() - began)


@dataclass(frozen=True)
class Watched:
    """What the deck cost while jobs changed, and how many really did, each second."""

    cpu_percent: float
    updates_per_second: float


def under_updates(server: Server, terminal: Terminal, rate: float) -> Watched:
    """Changes all jobs in turn from a process of its own, and watches the deck meanwhile."""
    words = [server.state_dir / "jobdeck.db", JOBS, rate, WATCHED_S + 2 * SETTLED_S]
    command = [sys.executable, "-m", "tests.bench.granting", *map(str, words)]
    with subprocess.Popen(command) as granting:
        cpu_percent(terminal, 2)
        versions = "SELECT sum(version) FROM jobs"
        before, at = server.row(versions)[0], time.monotonic()
        cpu = cpu_percent(terminal, WATCHED_S)
        changed = server.row(versions)[0] - before
        watched = Watched(cpu, changed / (time.monotonic() - at))
        granting.kill()
    return watched


def lag_under_updates(server: Server) -> float:
    """How late a deck's event loop is under the greatest load, p99 in milliseconds, once all jobs are listed."""
    with TemporaryDirectory() as directory:
        lags = Path(directory) / "lags"
        with opened(server, lags) as terminal:
            cpu_percent(terminal, SETTLED_S)
            lags.write_text("")
            under_updates(server, terminal, HARD_UPDATES_PER_SECOND)
        return percentile(loop_lags_ms(lags), 0.99)


def key_answers_ms(terminal: Terminal) -> list[float]:
    """Moves the cursor to and fro, as fast as somebody who looks at each step."""
    return [1_000 * terminal.answer_s(key) for key in (b"j", b"k") * 50]


def first_frame_s(server: Server) -> float:
    """From exec until the status bar is drawn."""
    with opened(server) as terminal:
        assert terminal.shown_at is not None
        return terminal.shown_at - terminal.started_at


def bare_first_frame_s() -> float:
    """The same of a program that only draws the deck's name."""
    terminal = Terminal([sys.executable, "-c", BARE_PROGRAM])
    try:
        wait_until(lambda: terminal.shown_at is not None, 20)
    finally:
        terminal.close()
    assert terminal.shown_at is not None
    return terminal.shown_at - terminal.started_at


def measure(server: Server) -> list[Figure]:
    """First frame and idle cost on a quiet server; then the list of 10,000, changed 500 times a second."""
    frames, bare = [], []
    for _ in range(rounds(7, 3)):
        frames.append(first_frame_s(server))
        bare.append(bare_first_frame_s())
    with opened(server) as terminal:
        cpu_percent(terminal, 3)  # until it has settled
        idle = [cpu_percent(terminal, WATCHED_S) for _ in range(rounds(3, 1))]
    server.pause(PAUSED)
    with started(server, 32, JOBS, 0, "name", PAUSED) as filling:
        filling.communicate()
    with opened(server) as terminal:
        cpu_percent(terminal, SETTLED_S)
        keys = [percentile(key_answers_ms(terminal), 0.95) for _ in range(rounds(3, 1))]
        busy = [under_updates(server, terminal, UPDATES_PER_SECOND) for _ in range(rounds(3, 1))]
        memory = [terminal.process.memory_info().rss / 1e6]
        hard = [under_updates(server, terminal, HARD_UPDATES_PER_SECOND) for _ in range(rounds(3, 1))]
        terminal.show_events()
        memory_after_hard = [terminal.process.memory_info().rss / 1e6]
    lags = [lag_under_updates(server) for _ in range(rounds(3, 1))]
    ratios = [deck / alone for deck, alone in zip(frames, bare, strict=True)]
    return [
        Figure("deck: exec → first frame", "s", frames, 0.6),
        Figure("bare Textual program: exec → first frame", "s", bare),
        Figure("deck ÷ bare Textual program: exec → first frame", "ratio", ratios),
        Figure("deck: idle", "% of a core", idle, 1),
        Figure("deck: 10,000 jobs listed, key → paint, p95", "ms", keys, 50),
        *_figures_under_updates(UPDATES_PER_SECOND, busy),
        Figure("deck: 10,000 jobs listed, resident", "MB", memory, 60),
        *_figures_under_updates(HARD_UPDATES_PER_SECOND, hard),
        Figure("deck: 10,000 jobs and 10,000 events, resident", "MB", memory_after_hard, 120),
        Figure("deck: under 1,000 updates and events a second, lag of its loop, p99", "ms", lags, 20),
    ]


def _figures_under_updates(rate: int, runs: list[Watched]) -> list[Figure]:
    name = f"deck: 10,000 jobs listed, {rate} updates and events a second"
    reached = [run.updates_per_second for run in runs]
    return [
        Figure(f"{name}, reached", "updates/s", reached, 0.95 * rate, at_least=True),
        Figure(name, "% of a core", [run.cpu_percent for run in runs], 10),
    ]
