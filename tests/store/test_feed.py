"""The feed's passes, called by hand on a real database, without Dask."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.feed import ACTS_A_READ, Feed
from jobdeck_backend.api.overview import Overview
from jobdeck_backend.app import Backend
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import audit, events
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tailer import Tailer
from sqlalchemy import text
from sqlalchemy.exc import OperationalError


async def no_epoch() -> int:
    raise AssertionError("no cluster is started here")


def with_feed(state_dir: Path, then: Callable[[Feed, Database], Coroutine[None, None, None]]) -> None:
    """Does something with the feed of a backend that nothing has started."""

    async def go() -> None:
        backend = Backend(Settings(state_dir=state_dir), None)
        database = backend.database
        cluster = EmbeddedCluster(backend.settings, no_epoch, backend, None)
        board = Board(database, lambda: None)
        async with asyncio.timeout(20):
            await then(Feed(Overview(backend.settings, database, board, cluster, Tailer(database))), database)
        database.close()

    asyncio.run(go())


def test_r37_a_change_that_could_not_be_read_is_told_by_the_next_pass(tmp_path: Path) -> None:
    async def go(feed: Feed, database: Database) -> None:
        frames = feed.frames(after=None, wants_events=False)
        assert b"event: overview" in await anext(frames)
        with database.write() as tx:
            submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id="one"), now())
            feed.hear(events.read_feed(tx, 0, 10)[0])
        with database.write() as tx:
            tx.execute(text("ALTER TABLE transitions RENAME TO elsewhere"))
        with pytest.raises(OperationalError):
            await feed.run_once()
        with database.write() as tx:
            tx.execute(text("ALTER TABLE elsewhere RENAME TO transitions"))
        await feed.run_once()
        while b'"job_id":"one"' not in await anext(frames):
            pass

    with_feed(tmp_path, go)


def test_one_pass_tells_every_act_however_many_came(tmp_path: Path) -> None:
    async def go(feed: Feed, database: Database) -> None:
        frames = feed.frames(after=None, wants_events=False)
        await anext(frames)
        with database.write() as tx:
            for number in range(2 * ACTS_A_READ + 1):
                paused = number % 2 == 0
                operators.set_paused(tx, "any", paused=paused, actor="ana", reason=None, now=now())
            written = audit.last_id(tx)
        await feed.run_once()
        told = b""
        while f'"id":{written},'.encode() not in told:
            told += await anext(frames)
        assert told.count(b"event: act") == 2 * ACTS_A_READ + 1

    with_feed(tmp_path, go)
