"""The link to one server: reaches it, follows its feed for ever, and holds the parts that read and send."""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from textual.dom import DOMNode

from jobdeck_tui.deck import Deck
from jobdeck_tui.deck_log import log
from jobdeck_tui.link.acts import ActSender
from jobdeck_tui.link.artifacts import ArtifactReader
from jobdeck_tui.link.bundles import BundleSaver
from jobdeck_tui.link.dask import DaskReader
from jobdeck_tui.link.errands import ErrandSender
from jobdeck_tui.link.jobs import JobReader
from jobdeck_tui.link.listing import Listing
from jobdeck_tui.link.operations import OperationsReader
from jobdeck_tui.link.pager import Pager
from jobdeck_tui.link.recovery import RecoveryReader
from jobdeck_tui.link.wire import Wire

if TYPE_CHECKING:
    from jobdeck_tui.client.feed import Connected, FeedItem, Lost

STEP_SECONDS = 0.003
"""Hundreds of changes can come at once: so long they are taken, then keys and draws have their turn."""


class Reach(Protocol):
    """Finds or starts the server."""

    async def reach(self, say: Callable[[str], None]) -> str:
        """The server's URL; ``say`` takes words on what is being waited for."""

    def trouble(self) -> str | None:
        """What is known of why the server does not answer."""


class Link:
    """The one user of the client."""

    def __init__(
        self, program: DOMNode, deck: Deck, reach: Reach, give_up: Callable[[str, int], None]
    ) -> None:
        """``give_up`` takes the reason why there is no server, and an exit code."""
        self._wire = Wire(program, deck)
        self._reach = reach
        self._give_up = give_up
        self.jobs = JobReader(self._wire)
        self.artifacts = ArtifactReader(self._wire)
        self.bundles = BundleSaver(self._wire)
        self.dask = DaskReader(self._wire)
        self._listing = Listing(self._wire)
        self.pager = Pager(self._wire)
        self.recovery = RecoveryReader(self._wire)
        self.operations = OperationsReader(self._wire)
        self.acts = ActSender(self._wire)
        self.errands = ErrandSender(self._wire)

    def open(self) -> None:
        """Begins, on the running event loop."""
        self._wire.start(self._wire.program, self._run, "link")

    async def _run(self) -> None:
        """Reaches the server, then follows its feed for ever."""
        await asyncio.to_thread(_import_client)
        if self._wire.deck.without_backend:
            self._wire.ready.set()
            return
        from jobdeck_tui.client.api import Api
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.feed import Feed

        try:
            url = await self._reach.reach(self._say_progress)
        except ClientError as error:
            self._give_up(error.message, getattr(error, "exit_code", 3))
            return
        self._wire.deck.server_words = url.split("://", 1)[-1]
        self._wire.deck.server_url = url
        self._say_progress("")
        log.info("server %s", url)
        self._wire.api = Api(url, read_only=self._wire.deck.read_only)
        self._wire.ready.set()
        breathed = perf_counter()
        async for item in Feed(self._wire.api, events=True).items():
            self._take(item)
            if perf_counter() - breathed > STEP_SECONDS:
                await asyncio.sleep(0)
                breathed = perf_counter()

    def _say_progress(self, words: str) -> None:
        self._wire.deck.start_words = words
        self._wire.deck.fresh = True

    def _take(self, item: "FeedItem") -> None:
        from jobdeck_tui.client import feed

        deck, news = self._wire.deck, True
        if isinstance(item, (feed.Connected, feed.Lost)):
            self._take_connection(item)
            return
        match item:
            case feed.OverviewSeen():
                news = deck.take_overview(item.overview)
            case feed.JobsChanged():
                self._listing.saw(item.jobs)
                deck.take_jobs(item.jobs)
                deck.unreadable += item.unreadable
            case feed.JobsGone(gone):
                deck.forget_jobs(gone)
            case feed.EventsSeen(texts):
                deck.take_events(texts)
            case feed.ActSeen(row):
                deck.company.take(row, deck.now())
            case feed.DrillChanged():
                deck.take_drill(item.drill)
            case feed.FrameUnreadable():
                deck.unreadable += 1
        deck.take_frame(news=news)

    def _take_connection(self, item: "Connected | Lost") -> None:
        from jobdeck_tui.client import feed

        if isinstance(item, feed.Lost):
            self._take_loss(item)
            return
        if item.resumed:
            log.info("feed open, resumed")
            return
        log.info("feed open, other records" if item.replaced else "feed open")
        if item.replaced:
            self._wire.deck.begin_anew()
        self._listing.begin()

    def _take_loss(self, lost: "Lost") -> None:
        deck = self._wire.deck
        now, wall = deck.monotonic(), deck.now()
        log.warning("feed lost: %s", lost.reason)
        if lost.denied is not None:
            deck.connection.denied(now, wall, lost.denied.status, lost.reason)
        else:
            reason = self._reach.trouble() or lost.reason
            deck.connection.lost(now, wall, reason, lost.retry_in)
        deck.agreement.forget()
        deck.fresh = True

    async def close(self) -> None:
        """Ends every connection."""
        await self.dask.close()
        if self._wire.api is not None:
            await self._wire.api.close()


def _import_client() -> None:
    """The HTTP client takes a tenth of a second to import: on a thread, after the first frame."""
    import httpx

    import jobdeck_tui.client.api
    import jobdeck_tui.client.dask_dashboard
    import jobdeck_tui.client.stream  # noqa: F401

    httpx.AsyncHTTPTransport(verify=False)  # made once, here too: it imports the most of it
