"""A Dask cluster that is nobody's backend: a scheduler, one worker of one thread, and their dashboards."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .processes import wait_until

LOCAL = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


@contextmanager
def dask_cluster(directory: Path) -> Iterator[tuple[str, str]]:
    """Run it; gives the scheduler's address and its dashboard's."""
    place = directory / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *LOCAL, "--port", "0"]
    log = (directory / "log").open("wb")
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(place)], stdout=log, stderr=log)
    worker = None
    try:
        found = wait_until(lambda: place.exists() and place.read_text() and json.loads(place.read_text()))
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            found["address"],
            "--no-nanny",
            *LOCAL,
        ]
        options = ["--name", "w0", "--nthreads", "1", "--local-directory", str(directory)]
        worker = subprocess.Popen([*command, *options], stdout=log, stderr=log)
        yield found["address"], f"http://127.0.0.1:{found['services']['dashboard']}"
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.kill()
                process.wait()
        log.close()
