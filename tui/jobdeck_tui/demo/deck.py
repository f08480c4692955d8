"""The demo in the deck: the same workload as the headless story, with the operator at the keys."""

import asyncio

from jobdeck_tui.client.api import Api
from jobdeck_tui.client.embedded import EmbeddedBackend
from jobdeck_tui.deck import Awaited
from jobdeck_tui.demo.documents import find_documents
from jobdeck_tui.demo.workload import PORTFOLIO_ID, submit
from jobdeck_tui.reaching import Reaching, Say, start
from jobdeck_tui.running import run_on
from jobdeck_tui.text.format import plural


class DemoReaching(Reaching):
    """Starts the demo's own backend and submits its workload; the caller stops the backend."""

    badge = "DEMO"
    awaited = Awaited(PORTFOLIO_ID, "The portfolio report")

    def __init__(self, backend: EmbeddedBackend) -> None:
        super().__init__("demo")
        self._demo = backend

    async def reach(self, say: Say) -> str:
        """Gives the URL once every document is submitted: the deck then shows them all.

        Raises:
            ClientError: the backend could not start, or refused the workload.
        """
        url = await start(self._demo, say)
        say("collecting the licence documents of this machine")
        documents = await asyncio.to_thread(find_documents)
        say(f"submitting {plural(len(documents), 'review')} and the portfolio")
        async with Api(url) as api:
            await submit(api, documents)
        return url

    def trouble(self) -> str | None:
        """How the demo's backend ended, if it did."""
        return self._demo.ended()


def show(backend: EmbeddedBackend) -> int:
    """Runs the deck on the demo; gives the exit code."""
    return run_on(DemoReaching(backend))
