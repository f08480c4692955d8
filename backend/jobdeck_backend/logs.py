"""How every process of the backend logs: plain lines on standard error, tracebacks without anybody's values.

What jobs say gets into logs too, by the message of an exception at the latest. A terminal that shows the log must
not obey it (R38).
"""

import logging
import os
import re
import sys
from contextlib import suppress
from enum import StrEnum
from functools import cache

import structlog
from structlog.typing import EventDict

ENTRY_CHARS_MAX = 20_000


HIDDEN = "***"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
SECRET_CHARS_MIN = 8
_SECRETS = (
    # A scheme with its credential, a name with its value, a URL's user, well-known kinds of keys.
    (re.compile(r"\b(bearer|basic)(\s+)[\w.~+/=-]{8,}", re.IGNORECASE), r"\1\2" + HIDDEN),
    (
        re.compile(
            r"((?:api[_-]?key|access[_-]?key|token|secret|password|passwd)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&)}\]]{4,}",
            re.IGNORECASE,
        ),
        r"\1" + HIDDEN,
    ),
    (re.compile(r"(://)[^\s/@:]+:[^\s/@]+@"), r"\1" + HIDDEN + "@"),
    (re.compile(r"\b(?:sk|pk|ghp|gho|xox[abprs]|AKIA)[-_]?[A-Za-z0-9_-]{14,}"), HIDDEN),
)


@cache
def _own_secrets() -> re.Pattern[str] | None:
    """What this process was told in variables that are named like secrets."""
    values = {
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= SECRET_CHARS_MIN
    }
    return re.compile("|".join(map(re.escape, sorted(values, key=len, reverse=True)))) if values else None


def without_secrets(text: str) -> str:
    """A text that others wrote, with what looks like a secret in it, or is one of this process, hidden."""
    own = _own_secrets()
    if own is not None:
        text = own.sub(HIDDEN, text)
    for pattern, shown in _SECRETS:
        text = pattern.sub(shown, text)
    return text


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
        return printable(without_secrets(super().format(record)))


def _with_plain_words(_logger: object, _method: str, entry: EventDict) -> EventDict:
    """Members of enumerations as their words: they would be drawn as Python writes them."""
    return {name: str(value) if isinstance(value, StrEnum) else value for name, value in entry.items()}


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
    configure_ours()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_PrintableFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def configure_ours() -> None:
    """Set up our own logging alone, in a process that is somebody else's.

    Left as it comes, structlog draws each traceback with every local variable in it, for a second or two.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_plain_words,
            # Plain: the pretty formatter prints local variables, and with them what jobs were given (R38).
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
            lambda _logger, _method, entry: printable(without_secrets(str(entry))),
        ],
        logger_factory=lambda *_names: _BestEffortLogger(),
    )
