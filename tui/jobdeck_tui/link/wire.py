"""What the parts of the link share: where their work runs, the deck's memory, the server once it was reached.

The HTTP client is imported only in this package, and only after the first frame is drawn. Every worker is
named by its group, tells failures as facts, and never ends the program.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from textual.dom import DOMNode

from jobdeck_tui.deck import Deck

if TYPE_CHECKING:
    from jobdeck_tui.client.api import Api

Work = Callable[[], Coroutine[Any, Any, None]]
REASON = "from the deck"
"""On record where the operator said none."""


class Wire:
    """The server, once reached; coroutines run as Textual workers on the deck's event loop."""

    def __init__(self, program: DOMNode, deck: Deck) -> None:
        self.program = program
        self.deck = deck
        self.api: Api | None = None
        self.ready = asyncio.Event()

    def start(self, node: DOMNode, work: Work, group: str, *, exclusive: bool = False) -> None:
        """Runs a coroutine function as a worker that ends with its node and cannot end the program."""
        node.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)  # type: ignore[arg-type]
