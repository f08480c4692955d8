"""A Dask cluster as others run one: the scheduler and workers of Dask's own command line."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from running_backend import wait_until

# As the README asks of a scheduler for jobdeck.
SCHEDULER = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0"}

WITHOUT_THE_PACKAGE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "jobdeck_backend":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
OF_ANOTHER_VERSION = """
import jobdeck_backend
jobdeck_backend.__version__ = "0.0.9"
"""
AN_HOUR_AHEAD = """
from jobdeck_backend import clock
clock.adopt(clock.anchor() + 3600)
"""
AN_HOUR_AHEAD_ELSEWHERE = AN_HOUR_AHEAD + 'clock.machine = lambda: "another machine"\n'


class DaskProcesses:
    """One scheduler's address, and the processes started for it."""

    def __init__(self, directory: Path, *arguments: str, protocol: str = "tcp") -> None:
        """``arguments`` go to scheduler and workers alike."""
        self.directory = directory
        self._arguments = arguments
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.address = f"{protocol}://127.0.0.1:{self.port}"

    def scheduler(self) -> subprocess.Popen[bytes]:
        """Start a scheduler at the address; answers once it listens."""
        process = self._start(
            "dask_scheduler",
            *("--host", self.address.rpartition(":")[0], "--port", str(self.port)),
            *("--dashboard-address", "127.0.0.1:0", "--no-show", *self._arguments),
            **SCHEDULER,
        )
        wait_until(self._listens, what="the scheduler listens")
        return process

    def worker(self, name: str, preload: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; ``preload`` is run in it first."""
        script = self.directory / f"preload_{name}.py"
        script.write_text(preload)
        return self._start(
            "dask_worker",
            *(self.address, "--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--host", self.address.rpartition(":")[0], "--local-directory", str(self.directory)),
            *("--memory-limit", "0", "--preload", str(script), *self._arguments),
            **environment,
        )

    def stop(self) -> None:
        """End everything that was started."""
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()

    def _listens(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def _start(self, module: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        variables = {key: value for key, value in os.environ.items() if not key.startswith("JOBDECK_")}
        with (self.directory / "dask.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
                env=variables | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
            )
        self._started.append(process)
        return process


@contextmanager
def dask_processes(directory: Path, *arguments: str, protocol: str = "tcp") -> Iterator[DaskProcesses]:
    """Ended at the end, whatever happened."""
    processes = DaskProcesses(directory, *arguments, protocol=protocol)
    try:
        yield processes
    finally:
        processes.stop()
