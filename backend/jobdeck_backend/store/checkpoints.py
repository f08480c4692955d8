"""The checkpointer, fenced: an execution that lost its job can save nothing (R14, R20, R21).

Only workers import this module, and with it LangGraph.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy import Connection

from jobdeck_backend.store.engine import Database, is_postgres
from jobdeck_backend.store.transactions import transact

BeforeSave = Callable[[Connection, str, str | None], None]
"""Called inside the saving transaction with the checkpoint's id and the node whose output alone is saved, or None:
raises to refuse the save, writes what must be on record together with it. One save may call it again."""
Patiently = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a save until the database takes it."""
# How LangGraph names a task that ran because of an edge; the node's name follows.
_PULL = "~__pregel_pull, "


def create_checkpoint_tables(database: Database) -> None:
    """Create LangGraph's own tables; once, before any worker starts."""
    if database.path is not None:
        with SqliteSaver.from_conn_string(str(database.path)) as saver:
            saver.setup()
        return
    from jobdeck_backend.store.postgres_checkpoints import create_tables

    create_tables(database)


def fenced_saver(connection: Connection, lock: RLock) -> "FencedSaver":
    """A saver through a worker slot's one connection, used only while ``lock`` is held."""
    if not is_postgres(connection):
        return FencedSqliteSaver(connection, lock)
    from jobdeck_backend.store.postgres_checkpoints import FencedPostgresSaver

    return FencedPostgresSaver(connection, lock)


class FencedSaver(BaseCheckpointSaver[Any]):
    """LangGraph's saver of either database, inline on the slot's event loop.

    Each save is one transaction that rolls back on any error: the stock savers commit even then, and would leave a
    cancelled graph's transaction open.
    """

    _connection: Connection
    _connection_lock: RLock

    def bind(self, before_save: BeforeSave, after_save: Callable[[], None], patiently: Patiently) -> None:
        """From now on save for one execution; ``after_save`` is called when a save is committed.

        Each save is made by ``patiently``, which makes it again until the database takes it.
        """
        self._before_save, self._after_save, self._patiently = before_save, after_save, patiently

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        stock = super().put

        def save(tx: Connection) -> RunnableConfig:
            self._before_save(tx, checkpoint["id"], None)
            return stock(config, checkpoint, metadata, new_versions)

        with self._connection_lock:
            saved = transact(self._connection, save)
            self._after_save()
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save a finished task's writes beside the checkpoint it started from."""
        stock = super().put_writes
        node = task_path.removeprefix(_PULL) if task_path.startswith(_PULL) else None

        def save(tx: Connection) -> None:
            self._before_save(tx, config["configurable"]["checkpoint_id"], node)
            stock(config, writes, task_id, task_path)

        with self._connection_lock:
            transact(self._connection, save)
            self._after_save()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As ``get_tuple``: a short read is faster than a change of thread."""
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


class FencedSqliteSaver(FencedSaver, SqliteSaver):
    """SQLite's: each save is one IMMEDIATE transaction."""

    def __init__(self, connection: Connection, lock: RLock) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        super().__init__(driver)
        self.is_setup = True
        self._connection, self._connection_lock = connection, lock

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002, FBT001, FBT002
        """A cursor in whatever transaction there is: the saver begins and ends none."""
        with self._connection_lock:
            yield self.conn.cursor()
