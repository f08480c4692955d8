"""The processes of one run, and what each fault does to them."""

import os
import random
import signal
import socket
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import httpx

from tests.running_backend import RunningBackend, StartError
from tests.storm.readers import Reader
from tests.storm.schedule import Fault, Strike

RESTART_S = 0.5
DELAY_S, GAP_S = 0.05, 0.15
STEPS_S = ("3600", "-3600", "0")
STEPPED = Path(__file__).parent / "stepped"
WORKFLOWS = Path(__file__).parent / "langgraph.json"
IMPATIENT = {
    "JOBDECK_HEARTBEAT_S": "0.5",
    "JOBDECK_HEARTBEAT_STALE_S": "3",
    "JOBDECK_LOST_ATTEMPTS_MAX": "6",
    "JOBDECK_LEASE_TTL_S": "3",
}


class Keeper:
    """One backend that is started again whenever it has ended, as a service manager would."""

    def __init__(self, state_dir: Path, *arguments: str) -> None:
        self.clock = state_dir.with_name(f"{state_dir.name}.clock")
        self.clock.write_text("0")
        self._state_dir, self._arguments = state_dir, arguments
        self._stopping = threading.Event()
        self.starts = 0
        self.backend = self._start()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _start(self) -> RunningBackend:
        path = os.pathsep.join([str(STEPPED), os.environ.get("PYTHONPATH", "")])
        environment = {**IMPATIENT, "PYTHONPATH": path, "JOBDECK_TEST_CLOCK": str(self.clock)}
        self.starts += 1
        return RunningBackend(self._state_dir, *self._arguments, **environment)

    def _keep(self) -> None:
        while not self._stopping.wait(RESTART_S):
            if self.backend.process.poll() is None:
                continue
            self.backend.kill()
            # Refused while a stopped process of the last one still has the directory: tried again.
            with suppress(StartError):
                self.backend = self._start()

    def end(self) -> None:
        """Start it no more, and stop it."""
        self._stopping.set()
        self._thread.join()
        self.backend.stop()


class Stand:
    """Two backends on one database, the second on the first one's cluster, and their readers."""

    def __init__(self, directory: Path, choice: random.Random) -> None:
        self.choice = choice
        self.over = threading.Event()
        """Set when the run is."""
        self.readers: list[Reader] = []
        self.database = directory / "first" / "jobdeck.db"
        port = _free_port()
        graphs = ("--workflows", str(WORKFLOWS))
        self.first = Keeper(directory / "first", "--scheduler-port", str(port), *graphs)
        self.first.backend.wait_for_dask(timeout_s=60)
        cluster = f"tcp://127.0.0.1:{port}"
        shared = ("--db-url", f"sqlite:///{self.database}", "--scheduler-address", cluster, *graphs)
        self.keepers = [self.first, Keeper(directory / "second", *shared)]
        self._lasting: list[threading.Thread] = []

    def url(self) -> str:
        """One of the backends, by chance."""
        return random.choice(self.keepers).backend.url

    def answering(self) -> RunningBackend | None:
        """The first backend, once all of them answer."""
        with suppress(httpx.HTTPError, RuntimeError):  # closed just now, to be started again
            for keeper in self.keepers:
                keeper.backend.http.get("/health").raise_for_status()
            return self.first.backend
        return None

    def follow(self, job_id: str) -> None:
        """One more reader."""
        reader = Reader(job_id, self.url, self.over)
        self.readers.append(reader)
        reader.start()

    def strike(self, strike: Strike) -> None:
        """Do it; what lasts goes on beside whatever comes next."""
        match strike.fault:
            case Fault.KILL:
                self._signal(strike.target, signal.SIGKILL)
            case Fault.STOP:
                self._last(self._stop, strike.target, strike.lasts)
            case Fault.HOLD_LOCK:
                self._last(self._hold_lock, [strike.lasts])
            case Fault.DELAY_COMMITS:
                self._last(self._hold_lock, [DELAY_S] * round(strike.lasts / (DELAY_S + GAP_S)))
            case Fault.RESET_READERS:
                for reader in self.readers:
                    reader.reset()
            case Fault.STEP_CLOCK:
                self._keeper(strike.target).clock.write_text(self.choice.choice(STEPS_S))

    def calm(self) -> None:
        """Wait until whatever lasts is over, with every clock right and nothing stopped."""
        for lasting in self._lasting:
            lasting.join()
        for keeper in self.keepers:
            keeper.clock.write_text("0")
            for pid in keeper.backend.processes():
                _send(pid, signal.SIGCONT)

    def end(self) -> None:
        """Stop the readers, then the backends."""
        self.over.set()
        for keeper in reversed(self.keepers):
            keeper.end()

    def _keeper(self, target: str) -> Keeper:
        return self.keepers[-1] if target == "second backend" else self.first

    def _pids(self, target: str) -> list[int]:
        if target.endswith("backend"):
            return [self._keeper(target).backend.pid]
        found = [pid for pid, role in self.first.backend.processes().items() if role == target]
        return [self.choice.choice(found)] if found else []

    def _signal(self, target: str, number: signal.Signals) -> list[int]:
        pids = self._pids(target)
        for pid in pids:
            _send(pid, number)
        return pids

    def _stop(self, target: str, lasts: float) -> None:
        stopped = self._signal(target, signal.SIGSTOP)
        self.over.wait(lasts)
        for pid in stopped:
            _send(pid, signal.SIGCONT)

    def _hold_lock(self, holds: Sequence[float]) -> None:
        with closing(sqlite3.connect(self.database, timeout=30, isolation_level=None)) as connection:
            for seconds in holds:
                connection.execute("BEGIN IMMEDIATE")
                self.over.wait(seconds)
                connection.execute("ROLLBACK")
                self.over.wait(GAP_S)

    def _last(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._lasting.append(thread)
        thread.start()


def _free_port() -> int:
    """One that the first backend's scheduler has at each of its starts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
