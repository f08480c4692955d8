"""Dask's own dashboard and the backend's view of the cluster, read only while somebody looks."""

from functools import partial
from typing import TYPE_CHECKING

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
        if not self._polling and self._wire.api is not None:
            self._polling = True
            self._wire.start(self._wire.program, partial(self._read, with_cluster=with_cluster), "dask")

    async def _read(self, *, with_cluster: bool) -> None:
        from jobdeck_tui.client.dask_dashboard import DaskDashboard
        from jobdeck_tui.client.errors import ClientError

        deck = self._wire.deck
        try:
            if with_cluster and self._wire.api is not None:
                deck.cluster = await self._wire.api.cluster()
        except ClientError:
            deck.cluster = None
        try:
            url = deck.overview.scheduler.dashboard_url if deck.overview is not None else None
            if url is None:
                deck.take_picture(None, "The server names no Dask dashboard.")
                return
            if self._dashboard is None or not url.startswith(self._dashboard.url):
                if self._dashboard is not None:
                    await self._dashboard.close()
                self._dashboard = DaskDashboard(url)
            deck.take_picture(await self._dashboard.read())
        except ClientError as error:
            deck.take_picture(None, error.message)
        finally:
            self._polling = False

    async def close(self) -> None:
        """Ends its connection."""
        if self._dashboard is not None:
            await self._dashboard.close()
