"""The end of artifacts' bytes: when their job's time is over (R6), or when no row ever came to need them (R31)."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from jobdeck_backend.clock import now
from jobdeck_backend.commands import artifacts as commands
from jobdeck_backend.jobs.artifacts import sandbox_name
from jobdeck_backend.loops import Loop
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import artifacts
from jobdeck_backend.store.artifact_files import ArtifactFiles, remove_tree
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

INTERVAL_S = 30.0
SWEEP_EVERY_S = 600.0
BATCH = 200

T = TypeVar("T")


class Sweeper(Loop):
    """One pass: end what is due; now and then, and at start, look for what nobody needs."""

    def __init__(self, settings: Settings, database: Database, writer: Writer, files: ArtifactFiles) -> None:
        super().__init__(INTERVAL_S)
        self._sandboxes = settings.sandboxes_path
        self._database = database
        self._writer = writer
        self._files = files
        self._swept_at = float("-inf")

    async def run_once(self) -> None:
        """End bytes whose time is over, and sweep when that is due."""
        while await asyncio.to_thread(self._is_any_due):
            due = await self._write(artifacts.expire, now(), BATCH)
            removed = await self._write(commands.discard, self._files, set(due))
            log.info("artifacts expired", rows=len(due), files=removed)
        if time.monotonic() - self._swept_at >= SWEEP_EVERY_S:
            self._swept_at = time.monotonic()
            await self._sweep()

    def sweep_soon(self) -> None:
        """Rows were deleted: look for what nobody needs any more. Only from the event loop's thread."""
        self._swept_at = float("-inf")
        self.wake()

    async def _sweep(self) -> None:
        """Remove bytes without a row, unfinished ones, and directories of executions that are over."""
        found = await asyncio.to_thread(lambda: list(self._files.digests(older_than_s=commands.YOUNG_S)))
        removed = 0
        for first in range(0, len(found), BATCH):
            removed += await self._write(commands.discard, self._files, found[first : first + BATCH])
        await asyncio.to_thread(self._files.remove_abandoned, older_than_s=commands.YOUNG_S)
        await asyncio.to_thread(self._remove_sandboxes)
        if removed:
            log.info("artifact bytes that no row needs are removed", files=removed)

    def _is_any_due(self) -> bool:
        """Asked beside the writer, which has more urgent things to do than to look."""
        with self._database.read() as tx:
            return artifacts.is_any_due(tx, now())

    def _remove_sandboxes(self) -> None:
        """Those of workers that died; the others remove their own."""
        there = list(self._sandboxes.glob("*"))
        with self._database.read() as tx:
            live = artifacts.live_attempts(tx)
        in_use = {sandbox_name(job_id, attempt) for job_id, attempt in live}
        for directory in there:
            if directory.name not in in_use:
                remove_tree(directory)

    async def _write(self, command: Callable[..., T], *arguments: object) -> T:
        return await self._writer.submit(command, *arguments)
