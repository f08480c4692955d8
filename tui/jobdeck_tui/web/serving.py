"""``textual-serve`` as jobdeck uses it: its own page, nothing from the internet, a bounded number of decks.

A deck ends with its page, and every deck with the server, however that ends.
"""

import asyncio
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp_jinja2
from aiohttp import web
from aiohttp.web_runner import GracefulExit
from textual_serve.server import Server, to_int

from jobdeck_tui.web.gate import gate, is_local, mark

DECKS_MAX = 8
END_SECONDS = 5.0
FONT_SIZE = 16
FONT_SIZES = range(6, 49)


class WebDeck(Server):
    """Serves the deck on one server to pages of this machine; one process for each page."""

    def __init__(self, listening: socket.socket, deck_arguments: Sequence[str]) -> None:
        """``deck_arguments`` are those of ``jobdeck_tui.web.deck``."""
        host, port = listening.getsockname()[:2]
        words = [sys.executable, "-m", "jobdeck_tui.web.deck", *deck_arguments]
        # The shell that starts the deck becomes it, so that the deck's parent is this process.
        command = f"exec {shlex.join(words)}"
        templates = Path(__file__).parent / "templates"
        super().__init__(command, host, port, title="jobdeck", templates_path=templates)
        self._token = secrets.token_urlsafe(32)
        self._listening = listening
        self._decks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """Where the deck is found, with the token that opens it."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/?token={self._token}"

    def run(self, ready: Callable[[], None]) -> None:
        """Serves until SIGINT, SIGTERM or SIGHUP; calls ``ready`` once a page would be answered."""

        async def said(_app: web.Application) -> None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _leave)
            asyncio.get_running_loop().call_soon(ready)

        async def made() -> web.Application:
            app = await self._make_app()
            app.on_startup.append(said)
            return app

        web.run_app(
            made(), sock=self._listening, shutdown_timeout=END_SECONDS, access_log=None, print=lambda *_: None
        )

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(gate(self.host, self.port, self._token))
        app.on_response_prepare.append(mark)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Says nothing: the command line does."""

    async def on_shutdown(self, app: web.Application) -> None:  # noqa: ARG002 (Textual's callback)
        """Ends every deck; one that does not end by itself is killed when this process is gone."""
        for deck in self._decks:
            deck.cancel()
        if self._decks:
            await asyncio.wait(self._decks, timeout=END_SECONDS)

    @aiohttp_jinja2.template("deck.html")
    async def handle_index(self, request: web.Request) -> dict[str, Any]:
        """The page, whose addresses are those it was asked by: a tunnel may have given it another port."""
        asked = to_int(request.query.get("fontsize", ""), FONT_SIZE)
        return {
            "font_size": asked if asked in FONT_SIZES else FONT_SIZE,
            "socket_url": f"{'wss' if request.secure else 'ws'}://{request.host}/ws",
        }

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One deck for as long as its page is open."""
        if len(self._decks) >= DECKS_MAX:
            raise web.HTTPServiceUnavailable(
                text=f"{DECKS_MAX} decks are open, which is the most; close one.\n"
            )
        deck = asyncio.current_task()
        assert deck is not None
        self._decks.add(deck)
        try:
            return await super().handle_websocket(request)
        finally:
            self._decks.discard(deck)


def listen(host: str, port: int) -> socket.socket:
    """Takes the address, so that its port is known before anything is started.

    Raises:
        OSError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    address = "127.0.0.1" if is_local(host) and family == socket.AF_INET and not host[0].isdigit() else host
    return socket.create_server((address, port), family=family)


def _leave() -> None:
    raise GracefulExit
