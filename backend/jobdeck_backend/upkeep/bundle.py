"""An incident bundle: all that is on record about one job, for whoever must find out what happened."""

import gzip
import io
import json
import tarfile
from collections import deque
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import platform, python_version

PART_BYTES_MAX = 4 << 20
LOG_READ_BYTES = 4 << 20
LOG_LINES_MAX = 400
_PACKAGES = (
    "jobdeck",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "dask",
    "distributed",
    "sqlalchemy",
    "fastapi",
)

README = """An incident bundle of one job, made by jobdeck.

job.json            the row, the request, and why the job is where it is
transitions.json    every change of its status, with who and why
attempts.json       every execution: worker, process, fence, heartbeat, how it ended
stages.json         completed stages with their evidence
effects.json        what it did to the outside world, as far as is known
events.ndjson       its log, one event a line
checkpoints.json    what is known of the graph's saved states, without the states
notifications.json  what its caller was told
audit.json          the acts on it
logs/               the workers' and the scheduler's log lines that name it
versions.json       what it ran on

What the job was given and what it made is replaced by its size and hash unless content was asked for. What looks
like a secret is taken out in any case; look through it all the same before you send it on.
"""


def as_json(value: object, *, indent: int | None = None) -> bytes:
    """JSON as pure ASCII: what a job wrote acts on no terminal that the file is looked at in."""
    return json.dumps(value, ensure_ascii=True, indent=indent).replace("\x7f", "\\u007f").encode("ascii")


def pack(root: str, parts: Mapping[str, bytes], at: float) -> bytes:
    """The parts as one ``.tar.gz`` under the directory ``root``; the same parts make the same bytes."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=int(at)) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name in sorted(parts):
            info = tarfile.TarInfo(f"{root}/{name}")
            info.size, info.mtime, info.mode = len(parts[name]), int(at), 0o600
            archive.addfile(info, io.BytesIO(parts[name]))
    return buffer.getvalue()


def bounded(lines: Iterable[bytes]) -> bytes:
    """Lines joined; of too many the first and the last, with a line between them that says so."""
    head: list[bytes] = []
    tail: deque[bytes] = deque()
    held = {"head": 0, "tail": 0}
    left_out = 0
    for line in lines:
        if held["head"] + len(line) <= PART_BYTES_MAX // 2 and not tail:
            head.append(line)
            held["head"] += len(line)
            continue
        tail.append(line)
        held["tail"] += len(line)
        while held["tail"] > PART_BYTES_MAX // 2:
            held["tail"] -= len(tail.popleft())
            left_out += 1
    note = [f'{{"left_out":{left_out}}}'.encode()] if left_out else []
    return b"".join(line + b"\n" for line in [*head, *note, *tail])


def log_lines(log: Path, job_id: str) -> list[str]:
    """The newest lines of a log that name the job, from the log's last megabytes."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_READ_BYTES))
        text = file.read().decode("utf-8", "replace")
    return [line for line in text.splitlines() if job_id in line][-LOG_LINES_MAX:]


def versions() -> dict[str, str]:
    """What this server runs on."""
    found = {"python": python_version(), "platform": platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found
