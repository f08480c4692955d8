"""The checkpointer, fenced: an execution that lost its job can save nothing (R14, R20, R21).

A stage costs one transaction: what its task wrote goes along with the checkpoint that its super-step ends in.
Only workers import this module, and with it LangGraph.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
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

BeforeSave = Callable[[Connection, str, Collection[str]], None]
"""Called inside the saving transaction with the checkpoint's id and the tasks whose output is saved: raises to
refuse the save, writes what must be on record together with it. One save may call it again."""
Patiently = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a save until the database takes it."""
# How long a task's writes wait for their super-step's checkpoint. It is next, unless other branches still run.
COMPANY_S = 0.005


@dataclass(eq=False)
class _Writes:
    """A finished task's writes, and whether somebody saved them or keeps them to be saved."""

    graph: str
    task_id: str
    write: Callable[[], object]
    saved: asyncio.Event = field(default_factory=asyncio.Event)


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
        self._beginning: dict[str, list[Callable[[], object]]] = {}
        self._waiting: list[_Writes] = []

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        put = partial(self._put, config, checkpoint, metadata, new_versions)
        saved: RunnableConfig = self._save(checkpoint["id"], (), put)
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save a finished task's writes beside the checkpoint it started from."""
        put = partial(self._put_writes, config, writes, task_id, task_path)
        self._save(config["configurable"]["checkpoint_id"], (task_id,), put)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As ``get_tuple``: a short read is faster than a change of thread."""
        if self._beginning:
            await self._save_together(_graph(config), next(reversed(self._beginning)))
        return self.get_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As ``put``, with the writes that wait for it. What was made of the input before any node ran proves no
        progress: it goes along with the next save."""
        put = partial(self._put, config, checkpoint, metadata, new_versions)
        if metadata["step"] <= 0:
            waiting = self._unsaved(_graph(config))
            with self._connection_lock:
                self._beginning[checkpoint["id"]] = [*(one.write for one in waiting), put]
            _release(waiting)
            named = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": _graph(config)}
            return {"configurable": {**named, "checkpoint_id": checkpoint["id"]}}
        saved: RunnableConfig = await self._save_together(_graph(config), checkpoint["id"], put)
        return saved

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As ``put_writes``, if no checkpoint comes soon that takes them along."""
        mine = _Writes(_graph(config), task_id, partial(self._put_writes, config, writes, task_id, task_path))
        self._waiting.append(mine)
        try:
            async with asyncio.timeout(COMPANY_S):
                await mine.saved.wait()
        except TimeoutError:
            await self._patiently(lambda: self.put_writes(config, writes, task_id, task_path))
        finally:
            self._waiting.remove(mine)

    async def _save_together(self, graph: str, checkpoint_id: str, *puts: Callable[[], Any]) -> Any:
        """Save what waits in this graph, then ``puts``, in one transaction; what the last answers."""
        waiting = self._unsaved(graph)
        task_ids = [one.task_id for one in waiting]
        writes = (one.write for one in waiting)
        saved = await self._patiently(partial(self._save, checkpoint_id, task_ids, *writes, *puts))
        _release(waiting)
        return saved

    def _unsaved(self, graph: str) -> list[_Writes]:
        """Not what ended beside a subgraph: that would be saved only after the stage with which it begins."""
        return [one for one in self._waiting if one.graph == graph and not one.saved.is_set()]

    def _save(self, checkpoint_id: str, task_ids: Collection[str], *puts: Callable[[], Any]) -> Any:
        def save(tx: Connection) -> Any:
            self._before_save(tx, checkpoint_id, task_ids)
            answers = [put() for put in (*chain.from_iterable(self._beginning.values()), *puts)]
            return answers[-1] if answers else None  # a node's thread may have saved the beginning meanwhile

        with self._connection_lock:
            saved = transact(self._connection, save)
            self._beginning.clear()
            self._after_save()
        return saved

    def _put(self, *checkpoint: Any) -> RunnableConfig:
        """LangGraph's own ``put``, in whatever transaction there is."""
        return super().put(*checkpoint)

    def _put_writes(self, *writes: Any) -> None:
        """LangGraph's own ``put_writes``, in whatever transaction there is."""
        super().put_writes(*writes)


def _graph(config: RunnableConfig) -> str:
    """LangGraph's name of the graph or subgraph whose state is saved."""
    return str(config["configurable"].get("checkpoint_ns", ""))


def _release(waiting: Sequence[_Writes]) -> None:
    for one in waiting:
        one.saved.set()


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
