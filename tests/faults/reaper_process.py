"""A recovery owner as a process: a real reaper on a database file, telling of each pass on standard output.

With ``stop`` as its second argument it stops itself (SIGSTOP) once, just before the first write of a plan that it
made as the owner: the worst moment to sleep.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from jobdeck_backend.commands.recovery import Step
from jobdeck_backend.jobs.records import Lease
from jobdeck_backend.recovery.plan import Action
from jobdeck_backend.recovery.reaper import Applied, Reaper
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

PASS_S = 0.05


class TellingReaper(Reaper):
    """Tells what came of each action, and may fall asleep over one."""

    stops = False

    async def _write(self, lease: Lease, steps: Sequence[Step]) -> list[bool]:
        if self.stops:
            self.stops = False
            tell(planned=len(steps))
            os.kill(os.getpid(), signal.SIGSTOP)
        return await super()._write(lease, steps)

    async def _apply(self, actions: Sequence[Action]) -> list[Applied]:
        applied = await super()._apply(actions)
        for one in applied:
            tell(job_id=one.action.job_id, skipped=one.skipped)
        return applied


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


async def run(directory: Path, *, stops: bool) -> None:
    settings = Settings(state_dir=directory, lease_ttl_s=1.0, heartbeat_stale_s=2.0)
    database = Database(settings.database_path, synchronous="FULL")
    reaper = TellingReaper(settings, database, Writer(database), worker_gone=lambda _attempt: None)
    reaper.stops = stops
    held = None
    while True:
        await reaper.run_once()
        epoch = reaper.lease and reaper.lease.epoch
        if epoch != held:
            held = epoch
            tell(epoch=epoch)
        await asyncio.sleep(PASS_S)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), stops=sys.argv[2:] == ["stop"]))
