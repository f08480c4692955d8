"""The feed's passes, called by hand on a real database, without Dask."""

import asyncio
from pathlib import Path

import pytest
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.feed import Feed
from jobdeck_backend.api.overview import Overview
from jobdeck_backend.app import Backend
from jobdeck_backend.clock import now
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import events
from jobdeck_backend.store.tailer import Tailer
from sqlalchemy import text
from sqlalchemy.exc import OperationalError


async def no_epoch() -> int:
    raise AssertionError("no cluster is started here")


def test_r37_a_change_that_could_not_be_read_is_told_by_the_next_pass(tmp_path: Path) -> None:
    async def go() -> None:
        backend = Backend(Settings(state_dir=tmp_path), None)
        database = backend.database
        cluster = EmbeddedCluster(backend.settings, no_epoch, backend)
        board = Board(database, lambda: None)
        feed = Feed(Overview(backend.settings, database, board, cluster, Tailer(database)))
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
        async with asyncio.timeout(5):
            while b'"job_id":"one"' not in await anext(frames):
                pass
        database.close()

    asyncio.run(go())
