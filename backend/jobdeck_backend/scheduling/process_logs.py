"""The logs of the scheduler and of each worker process: a file each, bounded, and read from their end.

Whatever a workflow or a library prints goes there too, so a file is cut from outside: what a process writes is
appended wherever the file's end is then.
"""

import asyncio
import os
from collections.abc import Callable, Collection
from pathlib import Path

from jobdeck_backend.logs import printable, without_secrets
from jobdeck_backend.loops import Loop

INTERVAL_S = 5.0
LOG_BYTES_MAX = 4 << 20
KEPT_BYTES = 1 << 20
"""What stays, beside the log, of one that was cut."""
ENDED_WORKERS_MAX = 64
"""Workers that are gone and whose logs are kept."""
TAIL_BYTES_MAX = 1 << 18


def log_path(directory: Path, name: str) -> Path:
    """Where a process of that name writes; every scheduler's epoch writes to the same file."""
    return directory / f"{name}.log"


class ProcessLogs(Loop):
    """One pass: cut what is too long, remove the logs of workers long gone."""

    def __init__(self, directory: Path, alive: Callable[[], Collection[str]]) -> None:
        """``alive``: the workers whose processes are there."""
        super().__init__(INTERVAL_S)
        self._directory = directory
        self._alive = alive

    def path(self, name: str) -> Path:
        """Where a process of that name writes."""
        return log_path(self._directory, name)

    async def run_once(self) -> None:
        """Keep the logs within their bounds."""
        await asyncio.to_thread(self._tidy, frozenset(self._alive()))

    def tail(self, worker: str, lines: int) -> tuple[list[str], bool] | None:
        """The last lines of a worker's log, safe to show, and whether there are more; None without a log."""
        parts = [_end_of(path, TAIL_BYTES_MAX) for path in (_cut_path(self.path(worker)), self.path(worker))]
        read = [part for part in parts if part is not None]
        if not read:
            return None
        text = b"".join(read)
        found = text[-TAIL_BYTES_MAX:].decode(errors="replace").splitlines()
        more = len(found) > lines or len(text) >= TAIL_BYTES_MAX
        return [printable(without_secrets(line)) for line in found[-lines:]], more

    def _tidy(self, alive: Collection[str]) -> None:
        for path in self._directory.glob("*.log"):
            if path.stat().st_size > LOG_BYTES_MAX:
                _cut(path)
        ended = [path for path in self._directory.glob("w*-e*.log") if path.stem not in alive]
        ended.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in ended[ENDED_WORKERS_MAX:]:
            path.unlink(missing_ok=True)
            _cut_path(path).unlink(missing_ok=True)


def _cut_path(path: Path) -> Path:
    return path.with_suffix(".log.1")


def _cut(path: Path) -> None:
    """Begin the log anew and keep its end beside it; a line written in between is lost."""
    _cut_path(path).write_bytes(_end_of(path, KEPT_BYTES) or b"")
    os.truncate(path, 0)


def _end_of(path: Path, count: int) -> bytes | None:
    """The last ``count`` bytes; None where there is no such file (any more)."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - count))
            return log.read(count)
    except FileNotFoundError:
        return None
