"""The checkpointer, fenced: an execution that lost its job can save nothing (R14, R20, R21).

Only workers import this module, and with it LangGraph.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy import Connection

BeforeSave = Callable[[Connection, str, str | None], None]
"""Called inside the saving transaction with the checkpoint's id and the node whose output alone is saved, or None:
raises to refuse the save, writes what must be on record together with it."""
Patiently = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a save until the database takes it."""
# How LangGraph names a task that ran because of an edge; the node's name follows.
_PULL = "~__pregel_pull, "


async def _at_once(save: Callable[[], Any]) -> Any:
    return save()


def create_checkpoint_tables(path: str) -> None:
    """Create LangGraph's own tables; once, before any worker starts."""
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()


class FencedSaver(SqliteSaver):
    """LangGraph's SQLite saver on a worker slot's one connection, inline on the slot's event loop.

    Each write is one IMMEDIATE transaction that rolls back on any error: the stock saver commits even then, and
    would leave a cancelled graph's transaction open.
    """

    def __init__(self, connection: Connection, lock: RLock) -> None:
        """Save through ``connection``, used only while ``lock`` is held."""
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        super().__init__(driver)
        self.is_setup = True
        self._connection = connection
        self._connection_lock = lock
        self._before_save: BeforeSave = lambda _tx, _checkpoint_id, _node: None
        self._after_save: Callable[[], None] = lambda: None
        self._kept: Callable[[], AbstractContextManager[None]] = nullcontext
        self._patiently: Patiently = _at_once
        self._saving: tuple[str, str | None] = ("", None)

    def bind(
        self,
        before_save: BeforeSave,
        after_save: Callable[[], None],
        kept: Callable[[], AbstractContextManager[None]],
        patiently: Patiently,
    ) -> None:
        """From now on save for one execution; ``after_save`` is called when a save is committed.

        Each save is made inside ``kept()``, which undoes what a failed one took from memory, and by ``patiently``,
        which makes it again until the database takes it.
        """
        self._before_save, self._after_save = before_save, after_save
        self._kept, self._patiently = kept, patiently

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: FBT001, FBT002
        """A cursor inside a fenced transaction, or a plain one for reading."""
        with self._connection_lock:
            if not transaction:
                yield self.conn.cursor()
                return
            with self._kept(), self._connection.begin():
                self._before_save(self._connection, *self._saving)
                yield self.conn.cursor()
            self._after_save()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        with self._connection_lock:
            self._saving = (checkpoint["id"], None)
            return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save a finished task's writes beside the checkpoint it started from."""
        with self._connection_lock:
            node = task_path.removeprefix(_PULL) if task_path.startswith(_PULL) else None
            self._saving = (config["configurable"]["checkpoint_id"], node)
            super().put_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As ``get_tuple``: a local read is faster than a change of thread."""
        return self.get_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As ``put``."""
        saved: RunnableConfig = await self._patiently(
            lambda: self.put(config, checkpoint, metadata, new_versions)
        )
        return saved

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As ``put_writes``."""
        await self._patiently(lambda: self.put_writes(config, writes, task_id, task_path))
