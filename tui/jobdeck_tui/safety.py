"""What keeps text and crashes from acting on the operator's terminal.

Every string was sanitised when it was decoded; this is the net below that, and the app's own manners: no
markup in notifications, no local variables in a crash report, the terminal restored on every signal.
"""

import asyncio
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache

from rich.console import Console
from rich.segment import Segment, Segments
from textual.color import Color
from textual.filter import LineFilter

# Controls, separators, bidirectional and other invisible format characters, surrogates.
CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x00AD,
    0x061C,
    0x180E,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xD800, 0xE000),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)
LAST_SECONDS = 2.0
DELETED = dict.fromkeys(CONTROLS)


@lru_cache(512)
def without_controls(text: str) -> str:
    """``text`` without any character of ``CONTROLS``."""
    return text if text.isascii() and text.isprintable() else text.translate(DELETED)


class ControlFilter(LineFilter):
    """The last net: deletes controls from every drawn segment, whatever put them there."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments, harmless."""
        del background
        return [Segment(without_controls(text), style, None) for text, style, _ in segments]


def crash_report(console: Console) -> Segments:
    """The exception being handled, with its lines of code and without any value of a variable."""
    from rich.traceback import Traceback  # a hundredth of a second that only a crash needs to pay

    traceback = Traceback(show_locals=False, width=None, extra_lines=1, max_frames=12)
    return Segments(
        [
            Segment(without_newline_controls(s.text), s.style)
            for s in console.render(traceback, console.options)
        ]
    )


def without_newline_controls(text: str) -> str:
    """Like ``without_controls``, keeping line ends."""
    return "\n".join(without_controls(line) for line in text.split("\n"))


def end_on_signals(end: Callable[[int], None]) -> None:
    """Calls ``end(128 + number)`` on SIGTERM, SIGHUP and SIGQUIT, on each of which Textual alone leaves the
    terminal unusable, and on SIGINT, of which it tells nothing.

    Must be called on the running event loop of the main thread.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT):
        loop.add_signal_handler(number, end, 128 + number)


def end_without_terminal(end: Callable[[int], None]) -> None:
    """Calls ``end`` as SIGHUP does once nobody holds the terminal's other end; who is not its session's leader is
    sent no signal. What waits to be written there then waits for ever: after ``LAST_SECONDS`` the process ends.

    Must be called on the running event loop.
    """
    loop = asyncio.get_running_loop()

    def watch() -> None:
        looks = select.poll()
        looks.register(sys.stdin, 0)
        looks.poll()  # for nothing but its end
        loop.call_soon_threadsafe(end, 128 + signal.SIGHUP)
        time.sleep(LAST_SECONDS)
        os._exit(128 + signal.SIGHUP)

    threading.Thread(target=watch, name="terminal", daemon=True).start()


def refusal_without_terminal(term: str | None) -> str | None:
    """Why the deck cannot be drawn here, in one sentence; None when it can."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return "The deck needs a terminal; without one use `jobdeck list`, `jobdeck watch` or `--json`."
    if not term or term == "dumb":
        return f"The deck cannot draw on TERM={term or ''}; use `jobdeck list` or `jobdeck watch` there."
    return None
