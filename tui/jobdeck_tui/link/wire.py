"""What the parts of the link share: where their work runs, the deck's memory, the server once it was reached.

The HTTP client is imported only in this package, and only after the first frame is drawn. Every worker is
named by its group, tells failures as facts, and never ends the program.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from textual.dom import DOMNode

from jobdeck_tui.core.acts import Phase
from jobdeck_tui.deck import Deck
from jobdeck_tui.deck_log import log

if TYPE_CHECKING:
    from jobdeck_tui.client.api import Api
    from jobdeck_tui.client.errors import ClientError

Work = Callable[[], Coroutine[Any, Any, None]]


class Sent:
    """An act on its way: what becomes of it is said, and kept among my acts."""

    def __init__(self, deck: Deck, what: str) -> None:
        self._deck = deck
        self.what = what
        self._number = deck.errands.begin(what, deck.now())

    def done(self, words: str) -> None:
        """The server did it."""
        self._end(Phase.SEEN, words, "notice")

    def failed(self, words: str, error: "ClientError") -> None:
        """The server did not do it, or nobody knows; ``words`` say what, the error why."""
        from jobdeck_tui.client.errors import TimedOut

        if isinstance(error, TimedOut):
            self._end(Phase.UNKNOWN, f"{self.what}: {error.message}", "bad")
        else:
            self._end(Phase.REFUSED, f"{words}: {error.message}", "bad")

    def _end(self, phase: Phase, words: str, look: str) -> None:
        log.info("act: %s: %s", self.what, words)
        self._deck.errands.end(self._number, phase, words)
        self._deck.say(words, look)


class Wire:
    """The server, once reached; coroutines run as Textual workers on the deck's event loop."""

    def __init__(self, program: DOMNode, deck: Deck) -> None:
        self.program = program
        self.deck = deck
        self.api: Api | None = None
        self.ready = asyncio.Event()

    def acts(self, what: str, job_id: str | None = None) -> "Sent":
        """An act goes out: it is logged and listed among my acts, and its echo in the feed is no news."""
        log.info("act: %s %s", what, job_id or "")
        self.deck.company.sends([job_id], self.deck.now())
        return Sent(self.deck, what)

    def start(self, node: DOMNode, work: Work, group: str, *, exclusive: bool = False) -> None:
        """Runs a coroutine function as a worker that ends with its node and cannot end the program."""
        node.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)  # type: ignore[arg-type]
