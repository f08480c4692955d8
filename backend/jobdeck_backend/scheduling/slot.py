"""What one worker thread keeps for its life: an event loop, a connection, a saver, compiled graphs.

Making these anew for each job costs more than most jobs' own bookkeeping.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from langgraph.graph.state import CompiledStateGraph
from sqlalchemy import Connection

from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs
from jobdeck_backend.store.checkpoints import fenced_saver
from jobdeck_backend.store.engine import Database, synced
from jobdeck_backend.store.transactions import transact

T = TypeVar("T")

# Threads for the sync nodes of one job; a graph's parallel branches share them.
NODE_THREADS_MAX = 8
GRAPHS_KEPT_MAX = 64

_of_thread = threading.local()


class Slot:
    """One thread's belongings. ``lock`` guards ``connection``, which sync nodes' threads use too."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.settings = settings
        self.database = database
        self.loop = asyncio.new_event_loop()
        self.lock = threading.RLock()
        self.connection = database.open_writer()
        self.saver = fenced_saver(self.connection, self.lock)
        self._nodes = self._new_executor()
        # Per slot, because a compiled graph is bound to the slot's saver.
        self.compiled: Callable[[Any], CompiledStateGraph[Any, Any, Any, Any]] = lru_cache(GRAPHS_KEPT_MAX)(
            self._compile
        )

    @classmethod
    def current(cls, settings: Settings, database: Database) -> "Slot":
        """This thread's slot, made at its first job."""
        slot: Slot | None = getattr(_of_thread, "slot", None)
        if slot is None:
            slot = _of_thread.slot = cls(settings, database)
        return slot

    def transact(self, work: Callable[[Connection], T], *, durably: bool = False) -> T:
        """Answer what ``work`` answers, once it is committed; ``durably``: synced to disk. See ``transact``."""
        with self.lock:
            return transact(self.connection, work, begin=synced if durably else Connection.begin)

    def stages_done(self, job_id: str) -> int:
        """How many of the job's stages are on record as completed."""
        return self.transact(lambda tx: len(jobs.load_stages(tx, job_id)))

    def wait_for_threads(self) -> None:
        """Block until no sync node's thread is left: so long the slot is taken, whatever the record says."""
        self._nodes.shutdown(wait=True)
        self._nodes = self._new_executor()

    def _new_executor(self) -> ThreadPoolExecutor:
        executor = ThreadPoolExecutor(NODE_THREADS_MAX, thread_name_prefix="node")
        self.loop.set_default_executor(executor)
        return executor

    def _compile(self, builder: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        return builder.compile(checkpointer=self.saver)  # type: ignore[no-any-return]
