"""Where the instance of this machine keeps its state, and whether one is running there.

A running backend holds a lock on ``jobdeck.lock`` in its state directory; the file names its pid and address.
"""

import fcntl
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from jobdeck_tui.text.sanitise import one_line

LOCK_NAME = "jobdeck.lock"
LOCK_BYTES_MAX = 4096
START_SECONDS = 15.0
LOOK_SECONDS = 0.05


class Instance(NamedTuple):
    """A running backend."""

    url: str
    pid: int
    state_dir: Path


def default_state_dir() -> Path:
    """Give the state directory: ``JOBDECK_STATE_DIR``, or the platform's place for a user's state."""
    named = os.environ.get("JOBDECK_STATE_DIR")
    if named:
        return Path(named)
    from platformdirs import user_state_path

    return user_state_path("jobdeck")


def running_instance(state_dir: Path) -> Instance | None:
    """Give the backend that runs on ``state_dir`` and answers, if one does."""
    holder = _holder(state_dir)
    return None if holder is None or holder.url is None else Instance(holder.url, holder.pid, state_dir)


def await_start(state_dir: Path, seconds: float = START_SECONDS) -> Instance | None:
    """Give the backend of ``state_dir``, waited for while one is starting there."""
    end = time.monotonic() + seconds
    while (holder := _holder(state_dir)) is not None and holder.url is None and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    return running_instance(state_dir)


class _Holder(NamedTuple):
    pid: int
    url: str | None
    """None while it is starting."""


def _holder(state_dir: Path) -> _Holder | None:
    """Who holds the directory's lock."""
    path = state_dir / LOCK_NAME
    try:
        with path.open("rb") as file:
            found = _read(file.read(LOCK_BYTES_MAX))
            # The lock is only tried where its writer seems to live: a backend that is just starting must not
            # find it taken by us.
            if found is None or not _alive(found.pid) or not _locked(file.fileno()):
                return None
            return found
    except OSError:
        return None


def _read(content: bytes) -> _Holder | None:
    try:
        record = json.loads(content)
        url = record["url"]
        return _Holder(int(record["pid"]), None if url is None else one_line(url, 300))
    except (ValueError, KeyError, TypeError):
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return pid > 0


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
