"""The recovery plan: read while somebody looks at it, applied when they say so."""

from collections.abc import Sequence
from functools import partial

from textual.dom import DOMNode

from jobdeck_tui.link.wire import Sent, Wire
from jobdeck_tui.text.format import plural


class RecoveryReader:
    """Reads one plan at a time into the deck's memory."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._reading = False

    def read(self, node: DOMNode) -> None:
        """Reads the plan once; skipped while one is under way."""
        if not self._reading and self._wire.api is not None:
            self._reading = True
            self._wire.start(node, self._read, "plan")

    async def _read(self) -> None:
        from jobdeck_tui.client.errors import ClientError

        deck = self._wire.deck
        try:
            if self._wire.api is not None:
                deck.take_plan(await self._wire.api.recovery_plan())
        except ClientError as error:
            deck.take_plan(None, error.message)
        finally:
            self._reading = False

    def apply(self, job_ids: Sequence[str]) -> None:
        """Applies the plan to these jobs, and says what came of it."""
        sent = self._wire.acts(f"apply the plan to {plural(len(job_ids), 'job')}")
        self._wire.deck.company.sends(job_ids, self._wire.deck.now())
        self._wire.start(self._wire.program, partial(self._apply, job_ids, sent), "apply")

    async def _apply(self, job_ids: Sequence[str], sent: Sent) -> None:
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.core.recovery_words import applied_words

        if self._wire.api is None:
            return
        try:
            sent.done(applied_words(await self._wire.api.apply_plan(job_ids, reason="from the deck")))
        except ClientError as error:
            sent.failed("The plan was not applied", error)
        self._wire.deck.fresh = True
