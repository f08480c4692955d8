"""Whether the database answers, as ``/health`` says it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy.exc import DBAPIError

from jobdeck_backend.errors import Unavailable
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database

PATIENCE_S = 0.5


class Pulse:
    """Asked once for all who want to know, on a thread and over a connection of its own.

    A database that hangs keeps these and no caller (I21): neither by its silence, nor because other requests
    wait for it on all the threads and for all the connections there are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pulse")
        self._asked: asyncio.Future[Unavailable | None] | None = None

    async def trouble(self) -> Unavailable | None:
        """What is wrong with the database; answers within ``PATIENCE_S``."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().run_in_executor(self._thread, self._ask)
        await asyncio.wait({self._asked}, timeout=PATIENCE_S)
        if self._asked.done():
            return self._asked.result()
        return Unavailable(f"the database {self._database.name} does not answer")

    def _ask(self) -> Unavailable | None:
        condition = self._database.condition
        try:
            with self._database.read_apart() as tx:
                events.last_position(tx)
        except Unavailable as trouble:
            return trouble
        except DBAPIError as error:
            return condition.failed(error)
        return condition.trouble
