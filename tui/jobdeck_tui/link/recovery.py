"""The recovery plan: read while somebody looks at it."""

from textual.dom import DOMNode

from jobdeck_tui.link.wire import Wire


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
