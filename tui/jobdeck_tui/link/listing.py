"""What a fresh connection must read once, because the feed tells only what changes from then on."""

import asyncio
from collections.abc import Iterable

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.server_list import LISTED_MAX
from jobdeck_tui.deck_log import log
from jobdeck_tui.link.garbage import settle
from jobdeck_tui.link.wire import Wire

AGAIN_SECONDS = 2.0


class Listing:
    """Lists jobs and drills, again and again until it was whole; a newer connection begins anew.

    Too many jobs are not listed: then the server is asked for the ones that are shown.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._known: set[str] = set()
        self._under_way = False

    def begin(self) -> None:
        """Lists everything; what the deck knows beyond that is then forgotten."""
        self._known.clear()
        self._under_way = True
        self._wire.start(self._wire.program, self._run, "listing", exclusive=True)

    def saw(self, jobs: Iterable[Job]) -> None:
        """Rows of the feed: a listing that began before them need not have them."""
        if self._under_way:
            self._known.update(job.job_id for job in jobs)

    async def _run(self) -> None:
        from jobdeck_tui.client.errors import ClientError

        told = False
        while True:
            try:
                await self._read()
            except ClientError as error:
                if not told:
                    words = f"The job list could not be read whole, trying again: {error.message}"
                    self._wire.deck.say(words, "warn")
                told = True
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    async def _read(self) -> None:
        api, deck = self._wire.api, self._wire.deck
        if api is None:
            return
        async for page in api.pages():
            if page.total > LISTED_MAX:
                deck.list_by_server(page.total)
                break
            self.saw(page.jobs)
            deck.take_jobs(page.jobs)
            deck.unreadable += page.unreadable
            deck.fresh = True
        else:
            deck.job_list.server_list = None
            deck.keep_jobs(self._known)
        deck.take_drills(await api.drills())
        log.info("%d jobs listed", len(self._known))
        self._under_way = False
        self._known.clear()
        settle()
        deck.fresh = True
