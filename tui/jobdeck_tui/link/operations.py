"""What operators look up now and then (queues, failures, logs) and do to workers and queues.

Each act is answered in words, refused or not; nothing is sent while the deck may not act.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual.dom import DOMNode

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.reading import Reading
from jobdeck_tui.link.wire import Sent, Wire
from jobdeck_tui.text.format import id_words

if TYPE_CHECKING:
    from jobdeck_tui.client.api import Api
    from jobdeck_tui.client.workers import WorkerLog

Item = TypeVar("Item")
Call = Callable[["Api"], Coroutine[Any, Any, str]]
LOG_LINES = 400
ACTS_MAX = 500
REASON = "from the deck"


class Operations:
    """Reads lists into the deck's memory, and sends the acts that are not on a job."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._moving: set[str] = set()

    # Reading

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

    # Acts

    def act_on_worker(self, name: str, act: str) -> None:
        """Drains a worker, takes it back, or restarts it."""

        async def ask(api: "Api") -> str:
            return (await api.act_on_worker(name, act, reason=REASON)).result

        self._act(ask, f"{act} {name}")

    def set_paused(self, queue: str, *, paused: bool, then: Callable[[], None]) -> None:
        """Pauses a queue, or unpauses it; ``then`` is called when it is done."""

        async def ask(api: "Api") -> str:
            await api.set_paused(queue, paused=paused, reason=REASON)
            then()
            if paused:
                key = self._wire.deck.key("unpause")
                return f"queue {queue} is paused: what Dask holds goes on, the rest waits; {key} unpauses it"
            return f"queue {queue} is open, its jobs start"

        self._act(ask, f"{'pause' if paused else 'unpause'} queue {queue}")

    def prioritise(self, job: Job, priority: int) -> None:
        """Moves a job in the line; one move at a time, so that each is on the row as it was seen."""
        if job.job_id in self._moving:
            self._wire.deck.say("the move before is on its way", "notice")
            return

        async def ask(api: "Api") -> str:
            try:
                moved = await api.prioritise(job.job_id, priority, version=job.version, reason=REASON)
            finally:
                self._moving.discard(job.job_id)
            self._wire.deck.take_jobs([moved])
            return (
                f"{id_words(job.job_id)} has priority {moved.priority}: it goes before equal deadlines below"
            )

        if self._act(ask, f"move {id_words(job.job_id)}", job.job_id):
            self._moving.add(job.job_id)

    def clone(self, job: Job) -> None:
        """Submits a job's request again under a new id."""

        async def ask(api: "Api") -> str:
            new = await api.clone(job.job_id, version=job.version, reason=REASON)
            self._wire.deck.take_jobs([new])
            return f"{id_words(job.job_id)} was submitted again as {new.job_id}"

        self._act(ask, f"submit {id_words(job.job_id)} again", job.job_id)

    def _act(self, ask: Call, what: str, job_id: str | None = None) -> bool:
        """Sends an act; False where none may go out, which is said."""
        if refusal := self._wire.deck.refusal():
            self._wire.deck.say(refusal, "bad")
            return False
        sent = self._wire.acts(what, job_id)
        self._wire.deck.say(f"{what}: sent", "notice")
        self._wire.start(self._wire.program, partial(self._send, ask, sent), "act")
        return True

    async def _send(self, ask: Call, sent: Sent) -> None:
        from jobdeck_tui.client.errors import ClientError, Refused

        deck = self._wire.deck
        if self._wire.api is None:
            return
        try:
            sent.done(await ask(self._wire.api))
        except Refused as error:
            sent.failed(f"{sent.what} was refused, nothing was changed", error)
            if error.current is not None:
                deck.take_jobs([error.current])
        except ClientError as error:
            sent.failed(f"{sent.what} was not done", error)
        deck.fresh = True
