"""Dask's own word: its dashboard (``/metrics``, ``/json/identity.json``), read by the deck itself.

This is deliberately not asked of the backend: where the records and Dask disagree, somebody must have looked.
"""

import re
import time
from urllib.parse import urlsplit

import httpx

from jobdeck_tui.text.sanitise import one_line

from . import models
from .errors import NotReachable, NotUnderstood
from .fields import NAME_LIMIT, Fields, Unreadable, parse
from .http import is_loopback, needs_certificates, read_bounded

READ_SECONDS = 2.0
BODY_BYTES_MAX = 16 << 20
_TASKS = re.compile(r'^dask_scheduler_tasks\{state="([a-z-]{1,20})"\} ([0-9.eE+]{1,24})$', re.MULTILINE)


class DaskDashboard:
    """Reads one scheduler's dashboard at ``url`` (``http://host:port``); close it when done."""

    def __init__(self, url: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        parts = urlsplit(url)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._client = httpx.AsyncClient(
            timeout=READ_SECONDS,
            trust_env=not is_loopback(url),
            verify=needs_certificates(url),
            transport=transport,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def read(self) -> models.DaskPicture:
        """Take one picture.

        Raises:
            NotReachable: Dask's dashboard does not answer.
            NotUnderstood: it answers something else than Dask 2026.8 does.
        """
        try:
            identity = await self._body("/json/identity.json")
        except NotUnderstood:
            # Stock workers report digests keyed by tuples, and Dask's JSON then fails while tasks run.
            identity = b'{"id":"","workers":{}}'
        metrics = await self._body("/metrics")
        return picture(identity, metrics.decode(errors="replace"), time.time())

    async def _body(self, path: str) -> bytes:
        try:
            async with self._client.stream("GET", self.url + path) as response:
                response.raise_for_status()
                return await read_bounded(response, BODY_BYTES_MAX)
        except httpx.HTTPStatusError as error:
            raise NotUnderstood(f"Dask's dashboard answers {error.response.status_code}.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotReachable("Dask's dashboard does not answer.") from error


def picture(identity: bytes | str, metrics: str, now: float) -> models.DaskPicture:
    """Put both answers together; ``now`` in Unix seconds.

    Raises:
        NotUnderstood: they are not what Dask says.
    """
    tasks = {state: int(float(count)) for state, count in _TASKS.findall(metrics)}
    if not tasks:
        raise NotUnderstood("Dask's dashboard gives no task counts: is prometheus_client installed there?")
    try:
        top = Fields(parse(identity))
        workers = top.raw("workers")
        entries = workers.values() if isinstance(workers, dict) else ()
        found = [_worker(entry, now) for entry in entries]
        return models.DaskPicture(
            scheduler_id=top.text("id"),
            tasks=tasks,
            workers=tuple(sorted(found, key=lambda worker: worker.name)),
            read_at=now,
        )
    except Unreadable as error:
        raise NotUnderstood("Dask's dashboard does not answer as Dask does.") from error


def _worker(data: object, now: float) -> models.DaskWorker:
    row = Fields(data)
    metrics = Fields(row.raw("metrics"))
    counts = metrics.counts("task_counts")
    last_seen = row.maybe_number("last_seen")
    return models.DaskWorker(
        name=one_line(str(row.raw("name")), NAME_LIMIT),
        address=row.maybe_text("address") or row.maybe_text("id"),
        pid=None,
        threads=row.integer("nthreads"),
        executing=counts.get("executing", 0) + counts.get("long-running", 0),
        ready=counts.get("ready", 0) + counts.get("constrained", 0),
        memory_bytes=metrics.maybe_integer("memory") or 0,
        last_seen_age=None if last_seen is None else max(now - last_seen, 0.0),
    )
