"""Dask's answers, parsed: Prometheus text and the scheduler's identity."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from jobdeck_tui.text.sanitise import one_line

from .errors import NotUnderstood
from .fields import NAME_LIMIT, Fields, Unreadable, parse
from .models import DaskWorker

_NUMBER = r"([0-9.eE+-]{1,24})$"
_LABELLED = r'\{(?:state|type)="([a-z_-]{1,30})"\} ' + _NUMBER
_TASKS = re.compile("^dask_scheduler_tasks" + _LABELLED, re.MULTILINE)
_WORKERS = re.compile("^dask_scheduler_workers" + _LABELLED, re.MULTILINE)
_STARTED = re.compile("^process_start_time_seconds " + _NUMBER, re.MULTILINE)
_WORKER_TASKS = re.compile("^dask_worker_tasks" + _LABELLED, re.MULTILINE)
_WORKER_MEMORY = re.compile("^dask_worker_memory_bytes" + _LABELLED, re.MULTILINE)


class SchedulerMetrics(NamedTuple):
    """The scheduler's ``/metrics``: tasks by state, how many workers, and when its process began."""

    tasks: dict[str, int]
    workers: int
    started: str


WORKER_STATES = {"running": "running", "closing_gracefully": "drained", "init": "starting"}
"""Dask's words for a worker's state in the backend's; any other takes no work."""


class KnownWorker(NamedTuple):
    """A worker as the scheduler described it, when it last heard of it, and where its own dashboard is."""

    worker: DaskWorker
    last_seen: float | None
    dashboard_url: str | None


def scheduler_metrics(text: str) -> SchedulerMetrics:
    """Read the scheduler's ``/metrics``.

    Raises:
        NotUnderstood: no task counts in it.
    """
    tasks = _counts(_TASKS, text)
    if not tasks:
        raise NotUnderstood("Dask's dashboard gives no task counts: is prometheus_client installed there?")
    started = _STARTED.search(text)
    return SchedulerMetrics(tasks, sum(_counts(_WORKERS, text).values()), started[1] if started else "")


def worker_metrics(text: str) -> tuple[int, int, int] | None:
    """Read a worker's own ``/metrics``: executing, ready, bytes of memory; None where it is no Dask worker's."""
    tasks = _counts(_WORKER_TASKS, text)
    memory = _counts(_WORKER_MEMORY, text)
    if not memory:
        return None
    bytes_held = memory.get("managed", 0) + memory.get("unmanaged", 0)
    return _executing(tasks), _ready(tasks), bytes_held


def identity(content: bytes | str, now: float) -> tuple[str, tuple[KnownWorker, ...]]:
    """Read ``/json/identity.json``: the scheduler's id and its workers by name; ``now`` in Unix seconds.

    Raises:
        NotUnderstood: it is not what Dask says.
    """
    try:
        top = Fields(parse(content))
        workers = top.raw("workers")
        entries = workers.items() if isinstance(workers, dict) else ()
        known = [_worker(str(address), entry, now) for address, entry in entries]
        return top.text("id"), tuple(sorted(known, key=lambda one: one.worker.name))
    except Unreadable as error:
        raise NotUnderstood("Dask's dashboard does not answer as Dask does.") from error


def _worker(address: str, data: object, now: float) -> KnownWorker:
    row = Fields(data)
    metrics = Fields(row.raw("metrics"))
    counts = metrics.counts("task_counts")
    last_seen = row.maybe_number("last_seen")
    worker = DaskWorker(
        name=one_line(str(row.raw("name")), NAME_LIMIT),
        address=one_line(address, NAME_LIMIT),
        pid=None,
        threads=row.integer("nthreads"),
        executing=_executing(counts),
        ready=_ready(counts),
        memory_bytes=metrics.maybe_integer("memory") or 0,
        last_seen_age=None if last_seen is None else max(now - last_seen, 0.0),
        state=WORKER_STATES.get(row.maybe_text("status") or "running", "paused"),
    )
    return KnownWorker(worker, last_seen, _dashboard_url(address, Fields(row.raw("services"))))


def _dashboard_url(address: str, services: Fields) -> str | None:
    try:
        port = services.maybe_integer("dashboard")
        host = urlsplit(address).hostname
    except ValueError:
        return None
    if port is None or host is None or not 0 < port < 65_536:
        return None
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _counts(pattern: re.Pattern[str], text: str) -> dict[str, int]:
    try:
        return {label: int(float(count)) for label, count in pattern.findall(text)}
    except (ValueError, OverflowError):
        return {}


def _executing(counts: dict[str, int]) -> int:
    return counts.get("executing", 0) + counts.get("long-running", 0)


def _ready(counts: dict[str, int]) -> int:
    return counts.get("ready", 0) + counts.get("constrained", 0)
