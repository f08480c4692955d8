"""Dask's own dashboard and the backend's view of the cluster, read only while somebody looks."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from jobdeck_tui.core.dask_words import NO_BOKEH, NO_BOKEH_ELSEWHERE
from jobdeck_tui.link.wire import Wire

if TYPE_CHECKING:
    from jobdeck_tui.client.dask_dashboard import DaskDashboard


class DaskReader:
    """Reads one picture at a time; never two at once."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._dashboard: DaskDashboard | None = None
        self._polling = False

    def poll(self, *, with_cluster: bool) -> None:
        """Reads Dask's own dashboard once, and the backend's cluster view; skipped while one is under way."""
        if not self._polling and self._wire.ready.is_set():
            self._polling = True
            self._wire.start(self._wire.program, partial(self._read, with_cluster=with_cluster), "dask")

    async def _read(self, *, with_cluster: bool) -> None:
        from jobdeck_tui.client.errors import ClientError

        deck = self._wire.deck
        try:
            if with_cluster and self._wire.api is not None:
                deck.cluster = await self._wire.api.cluster()
        except ClientError:
            deck.cluster = None
        try:
            url = deck.dask_url()
            if url is None:
                deck.take_picture(None, "The server names no Dask dashboard.")
                return
            deck.take_picture(await (await self._at(url)).read())
        except ClientError as error:
            deck.take_picture(None, error.message)
        finally:
            self._polling = False

    async def _at(self, url: str) -> "DaskDashboard":
        from jobdeck_tui.client.dask_dashboard import DaskDashboard

        if self._dashboard is None or not url.startswith(self._dashboard.url):
            if self._dashboard is not None:
                await self._dashboard.close()
            self._dashboard = DaskDashboard(url, self._wire.deck.now)
        return self._dashboard

    def find_bokeh(self, take: Callable[[str | None, str], None]) -> None:
        """Finds the page people look at; ``take`` gets its URL, or None and why there is none."""
        if self._wire.ready.is_set():
            self._wire.start(self._wire.program, partial(self._find_bokeh, take), "bokeh", exclusive=True)

    async def _find_bokeh(self, take: Callable[[str | None, str], None]) -> None:
        from jobdeck_tui.client.errors import ClientError

        url = self._wire.deck.dask_url()
        if url is None:
            take(None, "the server names no Dask dashboard")
            return
        try:
            page = await (await self._at(url)).bokeh_page()
        except ClientError as error:
            take(None, error.message)
        else:
            missing = NO_BOKEH_ELSEWHERE if self._wire.deck.without_backend else NO_BOKEH
            take(page, "" if page else missing)

    async def close(self) -> None:
        """Ends its connection."""
        if self._dashboard is not None:
            await self._dashboard.close()
