"""How the deck comes to its server: by address, or by a backend of its own that ends with the deck."""

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path

from jobdeck_tui.client.embedded import EmbeddedBackend
from jobdeck_tui.client.instance import default_state_dir
from jobdeck_tui.deck import Awaited

Say = Callable[[str], None]


class Reaching:
    """Finds or starts the server once, and stops what it started.

    ``badge`` stands in the status bar; the success of the job ``awaited`` is announced.
    """

    badge = ""
    awaited: Awaited | None = None

    def __init__(self, server: str | None, state_dir: Path | None = None) -> None:
        self._server = server
        self._backend = EmbeddedBackend(state_dir or default_state_dir()) if server is None else None

    @property
    def words(self) -> str:
        """What the status bar says until the address is known."""
        return self._server.split("://", 1)[-1] if self._server is not None else "embedded"

    async def reach(self, say: Say) -> str:
        """Gives the server's URL; ``say`` takes words on what is being waited for.

        Raises:
            StartFailed: an embedded backend could not start.
        """
        if self._backend is None:
            assert self._server is not None
            return self._server
        return await start(self._backend, say)

    def trouble(self) -> str | None:
        """What is known of why the server does not answer."""
        return self._backend.ended() if self._backend is not None else None

    def stop(self) -> None:
        """Ends the backend if it was started here."""
        if self._backend is not None:
            self._backend.stop()

    def parting(self) -> str:
        """What became of a backend that was started here, now that it was ended; empty where there was none."""
        if self._backend is None or not self._backend.owned:
            return ""
        kept = self._backend.state_dir
        named = "" if kept == default_state_dir() else f" --state-dir {shlex.quote(str(kept))}"
        return (
            f"The backend that ran with the deck was ended with it; all is kept in {kept}.\n"
            f"'jobdeck{named}' shows it again, and unfinished jobs go on then."
        )


class Looking(Reaching):
    """No server at all: only Dask's dashboard at ``url`` is looked at."""

    badge = "DASK ONLY"

    def __init__(self, url: str) -> None:
        super().__init__(url)


async def start(backend: EmbeddedBackend, say: Say) -> str:
    """Starts a backend without stopping the deck, and gives its URL.

    Raises:
        StartFailed: it could not start.
    """
    say("starting the backend, its scheduler and workers")
    return (await asyncio.to_thread(backend.start)).url
