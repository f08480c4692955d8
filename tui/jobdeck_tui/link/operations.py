"""What operators look up now and then: queues, failures, the audit, the logs of workers."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual.dom import DOMNode

from jobdeck_tui.core.reading import Reading
from jobdeck_tui.link.wire import Wire

if TYPE_CHECKING:
    from jobdeck_tui.client.api import Api
    from jobdeck_tui.client.workers import WorkerLog

Item = TypeVar("Item")
LOG_LINES = 400
ACTS_MAX = 500


class OperationsReader:
    """Reads lists into the deck's memory."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def read_queues(self, node: DOMNode) -> None:
        """Reads every queue."""
        self._read(node, "queues", self._wire.deck.queues, lambda api: api.queues())

    def read_failures(self, node: DOMNode) -> None:
        """Reads what failed, by kind."""
        self._read(node, "failures", self._wire.deck.failures, lambda api: api.failures())

    def read_audit(self, node: DOMNode) -> None:
        """Reads the newest acts of everybody."""
        self._read(node, "audit", self._wire.deck.audit, lambda api: api.audit(ACTS_MAX))

    def read_log(self, node: DOMNode, worker: str, take: "Callable[[WorkerLog | str], None]") -> None:
        """Reads the end of a worker's log; ``take`` gets it, or why it could not be read."""
        self._wire.start(node, partial(self._log, worker, take), "worker log", exclusive=True)

    def _read(
        self,
        node: DOMNode,
        what: str,
        reading: Reading[Item],
        ask: Callable[["Api"], Coroutine[Any, Any, Sequence[Item]]],
    ) -> None:
        self._wire.start(node, partial(self._fill, reading, ask), what, exclusive=True)

    async def _fill(
        self, reading: Reading[Item], ask: Callable[["Api"], Coroutine[Any, Any, Sequence[Item]]]
    ) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            reading.take(await ask(self._wire.api))
        except ClientError as error:
            reading.fail(error.message)
        self._wire.deck.fresh = True

    async def _log(self, worker: str, take: "Callable[[WorkerLog | str], None]") -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            take(await self._wire.api.worker_log(worker, LOG_LINES))
        except ClientError as error:
            take(error.message)
        self._wire.deck.fresh = True
