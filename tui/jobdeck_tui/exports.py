"""Files that the deck writes: what was asked for, in the current directory, for its owner's eyes only."""

import json
import os
import re
from pathlib import Path

VERSIONS_MAX = 100
_NAMELIKE = re.compile(r"[^A-Za-z0-9_-]+")


def write_json(name: str, data: object) -> Path:
    """Write ``data`` as JSON to a new file of mode 0600 and give its path; never over an existing one.

    ``name`` may come from a server: only letters, digits, ``_`` and ``-`` of it are used.

    Raises:
        OSError: it cannot be written there.
    """
    stem = _NAMELIKE.sub("_", name)[:100]
    for version in range(VERSIONS_MAX):
        path = Path.cwd() / (f"{stem}.json" if version == 0 else f"{stem}-{version}.json")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=True, indent=2)
            file.write("\n")
        return path
    raise FileExistsError(f"{VERSIONS_MAX} files named {stem} are there already")
