"""The deck's own log: what it was connected to, what it sent, why it ended. In the state directory, rotated.

Nothing in it acts on the terminal that shows it, and no secret is kept: neither a URL's user, nor a credential,
nor anybody's values in a traceback.
"""

import logging
import os
import re
import time
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from jobdeck_tui.text.sanitise import block

FILE_NAME = "deck.log"
FILE_BYTES_MAX = 1_000_000
FILES_KEPT = 3
ENTRY_CHARACTERS_MAX = 4_000
HIDDEN = "***"
_SECRETS = (
    (re.compile(r"\b(bearer|basic)(\s+)[\w.~+/=-]{4,}", re.IGNORECASE), r"\1\2" + HIDDEN),
    (
        re.compile(
            r"((?:api[_-]?key|access[_-]?key|token|secret|password|passwd)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&)}\]]+",
            re.IGNORECASE,
        ),
        r"\1" + HIDDEN,
    ),
    (re.compile(r"(://)[^\s/@]+@"), r"\1" + HIDDEN + "@"),
    (re.compile(r"\b(?:sk|pk|ghp|gho|xox[abprs]|AKIA)[-_]?[A-Za-z0-9_-]{14,}"), HIDDEN),
)

log = logging.getLogger("jobdeck.deck")
log.addHandler(logging.NullHandler())
log.propagate = False


def without_secrets(text: str) -> str:
    """A text with what looks like a secret in it hidden."""
    for pattern, shown in _SECRETS:
        text = pattern.sub(shown, text)
    return text


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(block(super().format(record), ENTRY_CHARACTERS_MAX)).replace("\n", "\n    ")

    def formatException(  # noqa: N802 (its base's name)
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        """Lines of code, and no variable's value."""
        return "".join(traceback.format_exception(*ei))


class _OwnersFile(RotatingFileHandler):
    """Readable by its owner alone; a disk that is full costs entries and nothing else."""

    def _open(self):  # type: ignore[no-untyped-def] # noqa: ANN202 (its base's)
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (its base's name)
        """Says nothing: standard error is the deck's screen."""


def open_log(directory: Path) -> Path | None:
    """Begin logging to ``directory``; gives the file, or None where it cannot be written."""
    path = directory / FILE_NAME
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _OwnersFile(path, maxBytes=FILE_BYTES_MAX, backupCount=FILES_KEPT, encoding="utf-8")
    except OSError:
        return None
    handler.setFormatter(
        _Formatter("%(asctime)sZ %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    )
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return path
