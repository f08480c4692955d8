"""How the deck comes to its server: by address, or by a backend of its own that ends with the deck."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from jobdeck_tui.client.embedded import EmbeddedBackend
from jobdeck_tui.client.instance import default_state_dir


class Reaching:
    """Finds or starts the server once, and stops what it started."""

    def __init__(self, server: str | None, state_dir: Path | None) -> None:
        self._server = server
        self._backend = EmbeddedBackend(state_dir or default_state_dir()) if server is None else None

    @property
    def words(self) -> str:
        """What the status bar says until the address is known."""
        return self._server.split("://", 1)[-1] if self._server is not None else "embedded"

    async def reach(self, say: Callable[[str], None]) -> str:
        """Gives the server's URL; ``say`` takes words on what is being waited for.

        Raises:
            StartFailed: an embedded backend could not start.
        """
        if self._backend is None:
            assert self._server is not None
            return self._server
        say("starting the backend, its scheduler and workers")
        return (await asyncio.to_thread(self._backend.start)).url

    def stop(self) -> None:
        """Ends the backend if it was started here."""
        if self._backend is not None:
            self._backend.stop()
