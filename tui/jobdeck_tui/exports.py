"""Files that the deck writes: what was asked for, in the current directory, for its owner's eyes only."""

import json
import os
import re
import time
from pathlib import Path

from jobdeck_tui.core.records import Records, as_text

VERSIONS_MAX = 100
_NAMELIKE = re.compile(r"[^A-Za-z0-9_-]+")


def write_json(name: str, data: object) -> Path:
    """Write ``data`` as JSON to a new file and give its path; see ``write_new``."""
    return write_new(name, "json", json.dumps(data, ensure_ascii=True, indent=2) + "\n")


def write_records(records: Records, kind: str) -> Path:
    """Write records in a kind of ``core.records.KINDS`` to a new file named after them and the time (UTC)."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return write_new(f"jobdeck-{records.what}-{stamp}", kind, as_text(records, kind))


def write_new(name: str, suffix: str, text: str) -> Path:
    """Write a text to a new file of mode 0600 and give its path; never over an existing one.

    ``name`` may come from a server: only letters, digits, ``_`` and ``-`` of it are used.

    Raises:
        OSError: it cannot be written there; nothing half written is left.
    """
    stem = _NAMELIKE.sub("_", name)[:100]
    for version in range(VERSIONS_MAX):
        path = Path.cwd() / (f"{stem}.{suffix}" if version == 0 else f"{stem}-{version}.{suffix}")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path
    raise FileExistsError(f"{VERSIONS_MAX} files named {stem} are there already")
