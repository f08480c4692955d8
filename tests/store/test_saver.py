"""The fenced saver by itself: what is saved when, and whose output a save's evidence is of."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from threading import RLock
from typing import Any

import pytest
from jobdeck_backend.store.checkpoints import FencedSaver, fenced_saver
from jobdeck_backend.store.engine import Database
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, empty_checkpoint
from sqlalchemy import Connection

Save = Callable[[], Any]


class Saves:
    """A saver for one execution; ``evidence`` is of which tasks' output each save told."""

    def __init__(self, database: Database) -> None:
        self.connection = database.open_writer()
        self.saver: FencedSaver = fenced_saver(self.connection, RLock())
        self.evidence: list[list[str]] = []
        self.patiently: Callable[[Save], Awaitable[Any]] = self._at_once
        self.saver.bind(self._before_save, lambda: None, lambda save: self.patiently(save))

    async def _at_once(self, save: Save) -> Any:
        return save()

    def _before_save(self, _tx: Connection, _checkpoint_id: str, task_ids: Collection[str]) -> None:
        self.evidence.append(list(task_ids))

    async def begin(self, graph: str = "") -> RunnableConfig:
        """A graph was given its input; answers where its first stages' writes go."""
        config = await self.put(_config(graph), -1)
        return await self.put(config, 0)

    async def put(self, config: RunnableConfig, step: int) -> RunnableConfig:
        checkpoint: Checkpoint = empty_checkpoint()
        metadata: CheckpointMetadata = {"source": "loop", "step": step, "parents": {}}
        return await self.saver.aput(config, checkpoint, metadata, {})

    async def write(self, config: RunnableConfig, task_id: str) -> None:
        await self.saver.aput_writes(config, [("said", task_id)], task_id, f"~__pregel_pull, {task_id}")

    def checkpoints(self) -> int:
        with self.connection.begin():
            return int(self.connection.exec_driver_sql("SELECT count(*) FROM checkpoints").scalar_one())


def _config(graph: str) -> RunnableConfig:
    return {"configurable": {"thread_id": "thread", "checkpoint_ns": graph}}


@pytest.fixture
def saves(database: Database) -> Iterator[Saves]:
    saves = Saves(database)
    yield saves
    saves.connection.close()


def test_r20_a_stage_is_on_record_with_its_own_output_only(saves: Saves) -> None:
    async def two_branches() -> None:
        place = await saves.begin()
        await asyncio.gather(saves.write(place, "one"), saves.write(place, "two"))

    asyncio.run(two_branches())
    assert saves.evidence == [["one"], ["two"]]


def test_r20_what_ended_beside_a_subgraph_is_saved_before_that_ones_first_stage_ends(saves: Saves) -> None:
    async def beside_a_subgraph() -> None:
        place = await saves.put(await saves.begin(), 1)
        fast = asyncio.create_task(saves.write(place, "fast"))
        await asyncio.sleep(0)
        await saves.begin("outer:1")
        await fast

    asyncio.run(beside_a_subgraph())
    assert saves.evidence[-1] == ["fast"]


def test_r20_a_super_steps_last_task_is_saved_with_its_checkpoint(saves: Saves) -> None:
    async def one_stage() -> None:
        place = await saves.begin()
        only = asyncio.create_task(saves.write(place, "only"))
        await asyncio.sleep(0)
        await saves.put(place, 1)
        await only

    asyncio.run(one_stage())
    assert saves.evidence == [["only"]]
    assert saves.checkpoints() == 3


def test_a_beginning_that_a_nodes_thread_saved_meanwhile_is_saved_once(saves: Saves) -> None:
    """Who found it unsaved and waited for the database finds nothing left to save."""

    async def meanwhile(save: Save) -> Any:
        saves.saver.put_writes(place, [("said", "other")], "other")
        return save()

    async def begin_and_look() -> Any:
        nonlocal place
        place = await saves.begin()
        saves.patiently = meanwhile
        return await saves.saver.aget_tuple(_config(""))

    place: RunnableConfig = {}
    found = asyncio.run(begin_and_look())
    assert found is not None
    assert found.config["configurable"]["checkpoint_id"] == place["configurable"]["checkpoint_id"]
    assert saves.evidence == [["other"], []]
    assert saves.checkpoints() == 2
