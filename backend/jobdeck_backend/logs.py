"""How every process of the backend logs: plain lines on standard error, tracebacks without anybody's values.

What jobs say gets into logs too, by the message of an exception at the latest. A terminal that shows the log must
not obey it (R38).
"""

import logging
import sys
from contextlib import suppress

import structlog

ENTRY_CHARS_MAX = 20_000


def printable(entry: str) -> str:
    """An entry as any terminal may show it: bounded, and what it would obey or hide written as an escape."""
    shown = entry if len(entry) <= ENTRY_CHARS_MAX else entry[:ENTRY_CHARS_MAX] + "… (cut)"
    if shown.isprintable():
        return shown
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode()
        for character in shown
    )


class _PrintableFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class _BestEffortLogger(structlog.PrintLogger):
    """Prints to standard error. On a full disk an entry is lost, and not the work that it tells of."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def msg(self, message: str) -> None:
        """Print one entry."""
        with suppress(OSError):
            super().msg(message)

    log = debug = info = warn = warning = error = critical = fatal = exception = failure = err = msg


def configure() -> None:
    """Set up this process's logging, ours and the libraries'."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Plain: the pretty formatter prints local variables, and with them what jobs were given (R38).
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
            lambda _logger, _method, entry: printable(str(entry)),
        ],
        logger_factory=lambda *_names: _BestEffortLogger(),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_PrintableFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
