"""The recovery plan over ten thousand jobs, each with a checkpoint, whose worker is gone: read, and applied."""

import asyncio
import os
import shutil
import sqlite3
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog
from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.recovery.plan import Act
from jobdeck_backend.recovery.reaper import Reaper
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from jobdeck_backend.store.writer import Writer
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.bench.figures import Figure, rounds

JOBS = 10_000


def fill(database: Database) -> None:
    """Jobs as a lost cluster leaves them: claimed, one checkpoint behind them, a node still to run."""
    ids = [f"job-{number:05d}" for number in range(JOBS)]
    with database.write() as tx:
        for job_id in ids:
            submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id), now())
            execution.claim(tx, job_id, 0, worker="w0-e1", pid=1, epoch=1, now=now())
    with sqlite3.connect(database.path, isolation_level=None) as connection:
        saver = SqliteSaver(connection)
        saver.is_setup = True
        connection.execute("BEGIN")
        for job_id in ids:
            config = {"configurable": {"thread_id": job_id, "checkpoint_ns": ""}}
            checkpoint = empty_checkpoint() | {"channel_values": {"text": "x" * 500, "branch:to:next": None}}
            saver.put(config, checkpoint, {"job_id": job_id, "step": 1}, {})  # type: ignore[arg-type, typeddict-unknown-key]
    connection.close()


async def plan_and_apply_s(settings: Settings) -> tuple[float, float]:
    """Seconds to read the plan, and to carry it out."""
    database = Database(settings.database_path, synchronous="FULL")
    writer = Writer(database)
    reaper = Reaper(settings, database, writer, worker_gone=lambda _attempt: "scheduler lost")
    began = time.perf_counter()
    read = await asyncio.to_thread(reaper.read)
    planned_s = time.perf_counter() - began
    assert [one.act for one in read.actions] == [Act.RESUME] * JOBS
    began = time.perf_counter()
    applied = await reaper.apply(None)
    applied_s = time.perf_counter() - began
    assert sum(one.skipped is None for one in applied) == JOBS
    writer.stop()
    database.close()
    return planned_s, applied_s


def measure() -> list[Figure]:
    """In this process, each time on a copy of one database. Each action is logged, as ever, but to nowhere."""
    taken = []
    with (
        Path(os.devnull).open("w") as nowhere,
        TemporaryDirectory(prefix="jobdeck-bench-") as directory,
    ):
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(nowhere))
        filled = Database(Path(directory) / "jobdeck.db", synchronous="NORMAL")
        migrate(filled)
        fill(filled)
        filled.close()
        for number in range(rounds(5, 1)):
            settings = Settings(state_dir=Path(directory) / str(number))
            settings.state_dir.mkdir()
            shutil.copy(filled.path, settings.database_path)
            taken.append(asyncio.run(plan_and_apply_s(settings)))
    structlog.reset_defaults()
    return [
        Figure(f"recovery plan over {JOBS:,} unfinished jobs", "s", [planned for planned, _ in taken], 1.0),
        Figure(f"the same plan applied, {JOBS:,} jobs", "s", [applied for _, applied in taken], 10.0),
    ]
