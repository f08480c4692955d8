"""PostgreSQL's word that somebody committed: one LISTEN a process, on one channel for all jobs (R29).

While it is lost the log is looked at often, from the place reached; it comes back by itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import psycopg
import structlog

from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.loops import Loop
from jobdeck_backend.store import places
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.following import KeptReader, Page, paged
from jobdeck_backend.store.postgres import CHANNEL, Postgres
from jobdeck_backend.store.trouble import cause_of

log = structlog.get_logger(__name__)

RETRY_S = 0.5
# Nothing heard for so long: is the connection still one?
SILENCE_S = 10.0
POLL_S = 0.05
# While listening: in case a word was lost.
LOOK_S = 1.0


class Listener(Loop):
    """One pass: connect, and pass on what is heard until the connection is lost."""

    def __init__(self, database: Database) -> None:
        super().__init__(RETRY_S)
        assert isinstance(database.dialect, Postgres)
        self._arguments = database.dialect.connection_arguments()
        self._reader = KeptReader(database, isolation_level="AUTOCOMMIT")
        self._tell: Callable[[], None] = lambda: None
        self._listening = False
        self._said = False

    @property
    def mode(self) -> Mapping[str, object]:
        """Told of commits, or looking for them."""
        if self._listening:
            return {"mode": "pubsub", "channel": CHANNEL}
        return {"mode": "polling", "interval_ms": round(POLL_S * 1000)}

    @property
    def look_s(self) -> float:
        """Seldom while listening."""
        return LOOK_S if self._listening else POLL_S

    def start(self, wake: Callable[[], None] = lambda: None) -> None:
        """Begin to listen."""
        self._tell = wake
        super().start()

    async def stop(self) -> None:
        """End, and close both connections."""
        await super().stop()
        await asyncio.to_thread(self.disconnect)

    async def run_once(self) -> None:
        """Listen until the connection is lost."""
        try:
            async with await psycopg.AsyncConnection.connect(
                **self._arguments, autocommit=True
            ) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                self._become(listening=True)
                while True:
                    async for _ in connection.notifies(timeout=SILENCE_S):
                        self._tell()
                    await connection.execute("SELECT 1")
        except (psycopg.Error, OSError) as error:
            if not self._said:
                log.warning("PostgreSQL does not tell of commits; they are looked for", cause=cause_of(error))
            self._said = True
        finally:
            self._become(listening=False)

    def _become(self, *, listening: bool) -> None:
        self._listening = listening
        self._said = self._said and not listening
        self._tell()  # what was committed before, and the other mode

    async def pages(self, place: str) -> AsyncIterator[Page]:
        """On a thread: the server may be slow, or away."""
        found, end = await asyncio.to_thread(self._look, place)
        for page in paged(found, place, end):
            yield page
            await asyncio.sleep(0)

    def _look(self, place: str) -> tuple[list[StoredEvent], str]:
        if self._reader.connection is None:
            # Without statistics yet, or with old ones, the planner would read the whole log at each look.
            self._reader.connected().exec_driver_sql("SET enable_seqscan = off")
        return places.look(self._reader.connected(), place)

    def disconnect(self) -> None:
        """Forget a reading connection that failed."""
        self._reader.disconnect()
