"""Dask's own word: its dashboard (``/metrics``, ``/json/identity.json``), read by the deck itself.

This is deliberately not asked of the backend: where the records and Dask disagree, somebody must have looked.

Dask 2026.8 answers ``/json/identity.json`` with 500 for half a second after any task ran (it cannot write its
fine performance metrics as JSON), so under load nearly always. Task counts never depend on it; the workers known
from an earlier answer are then asked themselves, and where none is known yet the picture has none.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from .dask_metrics import KnownWorker, identity, scheduler_metrics, worker_metrics
from .errors import ClientError, NotReachable
from .http import is_loopback, needs_certificates, read_bounded
from .models import DaskPicture, DaskWorker

READ_SECONDS = 2.0
BODY_BYTES_MAX = 16 << 20
WITHOUT_BOKEH = b"<p>Dask needs bokeh"
"""What a scheduler without Bokeh has in the place of its page."""
WORKERS_ASKED_MAX = 16
"""Workers asked themselves at most; those of a larger cluster keep what the scheduler last said of them."""


class _Known(NamedTuple):
    started: str
    scheduler_id: str
    workers: tuple[KnownWorker, ...]


class DaskDashboard:
    """Reads one scheduler's dashboard at ``url`` (``http://host:port``); close it when done.

    ``wall`` tells the time that the cluster's machines have.
    """

    def __init__(self, url: str, wall: Callable[[], float] = time.time) -> None:
        parts = urlsplit(url)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._client = httpx.AsyncClient(
            timeout=READ_SECONDS, trust_env=not is_loopback(url), verify=needs_certificates(url)
        )
        self._known: _Known | None = None
        self._wall = wall

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def read(self) -> DaskPicture:
        """Take one picture; ``scheduler_id`` is empty and there are no workers where Dask could not say.

        Raises:
            NotReachable: Dask's dashboard does not answer.
            NotUnderstood: it answers something else than Dask 2026.8 does.
        """
        _, body = await self._get(f"{self.url}/metrics")
        metrics = scheduler_metrics(body.decode(errors="replace"))
        status, described = await self._get(f"{self.url}/json/identity.json", allowed=(500,))
        now = self._wall()
        if status == 200:
            scheduler_id, workers = identity(described, now)
            self._known = _Known(metrics.started, scheduler_id, workers)
            return DaskPicture(scheduler_id, metrics.tasks, tuple(one.worker for one in workers), now)
        known = self._known
        if known is None or known.started != metrics.started:
            return DaskPicture("", metrics.tasks, (), now)
        workers_now = await self._ask_workers(known.workers) if len(known.workers) == metrics.workers else ()
        return DaskPicture(known.scheduler_id, metrics.tasks, workers_now, now)

    async def bokeh_page(self) -> str | None:
        """Find Dask's page of plots; None where the scheduler has none.

        Raises:
            NotReachable: Dask's dashboard does not answer.
        """
        page = f"{self.url}/status"
        status, body = await self._get(page, allowed=(404,))
        return page if status == 200 and not body.startswith(WITHOUT_BOKEH) else None

    async def _ask_workers(self, known: tuple[KnownWorker, ...]) -> tuple[DaskWorker, ...]:
        asked = known[:WORKERS_ASKED_MAX]
        answered = await asyncio.gather(*map(self._ask_worker, asked))
        now = self._wall()
        return (*answered, *(_aged(one, now) for one in known[WORKERS_ASKED_MAX:]))

    async def _ask_worker(self, known: KnownWorker) -> DaskWorker:
        if known.dashboard_url is not None:
            try:
                _, body = await self._get(f"{known.dashboard_url}/metrics")
            except ClientError:
                return _aged(known, self._wall())
            told = worker_metrics(body.decode(errors="replace"))
            if told is not None:
                executing, ready, memory_bytes = told
                return known.worker._replace(
                    executing=executing,
                    ready=ready,
                    memory_bytes=memory_bytes,
                    last_seen_age=0.0,
                )
        return _aged(known, self._wall())

    async def _get(self, url: str, allowed: tuple[int, ...] = ()) -> tuple[int, bytes]:
        try:
            async with self._client.stream("GET", url) as response:
                if response.status_code not in allowed:
                    response.raise_for_status()
                return response.status_code, await read_bounded(response, BODY_BYTES_MAX)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotReachable("Dask's dashboard does not answer.") from error


def _aged(known: KnownWorker, now: float) -> DaskWorker:
    """Give a worker as it was, and say how long ago that was."""
    age = None if known.last_seen is None else max(now - known.last_seen, 0.0)
    return known.worker._replace(last_seen_age=age)
