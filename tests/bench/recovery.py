"""Losses and hangs as drills time them; by the records, how long until every slot is at work again; the plan."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from tests.bench import planning
from tests.bench.figures import Figure, rounds
from tests.bench.server import Server, running_server, wait_until

JOBS = 6
SLOTS = 2
STAGE_S = 600.0
BUSY_S = 4.0
HUNG_AT_A_TIME = 3
"""Servers whose schedulers hang in turn: nearly all of that time is spent waiting."""


@dataclass
class Seen:
    """What many rounds of one fault came to: each of a drill's steps, in seconds after the injection."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    by_records: list[float] = field(default_factory=list)
    """When an attempt of the next epoch ran on every slot."""

    def step(self, name: str) -> list[float]:
        """When that step was seen, in each round."""
        return [one[name] for one in self.steps]


def drill(server: Server, fault: str, seen: Seen) -> None:
    """Inject a fault into a server at work and wait for the drill's end."""
    with Work(server):
        epoch = _epoch(server)
        answer = server.http.post("/v1/ops/drills", json={"fault": fault, "confirm": fault})
        answer.raise_for_status()
        path = f"/v1/ops/drills/{answer.json()['id']}"
        wait_until(lambda: server.http.get(path).json()["state"] != "running", 60, look_s=0.1)
        ended = server.http.get(path).json()
        failed = [step for step in ended["timeline"] if step["verdict"] == "failed"]
        assert not failed, failed
        seen.steps.append({step["name"]: step["seen"] for step in ended["timeline"]})
        if fault.startswith("scheduler"):
            injected_at = datetime.fromisoformat(ended["started_at"]).timestamp()
            started = "SELECT started_at FROM attempts WHERE epoch > ? ORDER BY started_at"
            seen.by_records.append(server.rows(started, epoch)[SLOTS - 1][0] - injected_at)


class Work:
    """Long jobs on every slot and some in line, for one round."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._jobs: list[str] = []

    def __enter__(self) -> None:
        stages = {"stages": [{"name": "begun"}, {"name": "long", "seconds": STAGE_S}]}
        self._jobs = [self._server.submit(stages) for _ in range(JOBS)]
        in_long = "SELECT count(*) FROM jobs WHERE status = 'running' AND stage = 'long'"
        wait_until(lambda: self._server.row(in_long)[0] == SLOTS, 30)
        self._server.wait_for_dask()

    def __exit__(self, *_exception: object) -> None:
        for job_id in self._jobs:
            self._server.cancel(job_id)
        self._server.wait_until_drained()


def losses_when_busy(server: Server) -> int:
    """How many epochs it costs that the scheduler answers nobody for four seconds."""
    with Work(server):
        epoch, scheduler = _epoch(server), server.scheduler_pid()
        os.kill(scheduler, signal.SIGSTOP)
        busy_until = time.monotonic() + BUSY_S
        wait_until(lambda: time.monotonic() >= busy_until, 2 * BUSY_S)
        os.kill(scheduler, signal.SIGCONT)
        server.wait_for_dask()
        return _epoch(server) - epoch


def _epoch(server: Server) -> int:
    return int(server.row("SELECT epoch FROM leases WHERE role = 'scheduler'")[0])


def _hang(hung: Seen, busy: list[float], starting: Lock) -> None:
    """A share of the rounds on a server of its own, begun while the others wait."""
    with ExitStack() as stack:
        with starting:
            server = stack.enter_context(running_server())
        for _ in range(rounds(7, 1)):
            drill(server, "scheduler-hang", hung)
        busy += [losses_when_busy(server) for _ in range(rounds(2, 1))]


def measure(server: Server) -> list[Figure]:
    """Twenty of each, and what plans cost."""
    killed, workers, hung = Seen(), Seen(), Seen()
    busy: list[float] = []
    for _ in range(rounds(20, 3)):
        drill(server, "scheduler-loss", killed)
        drill(server, "worker-loss", workers)
    starting = Lock()
    with ThreadPoolExecutor(HUNG_AT_A_TIME) as pool:
        for one in [pool.submit(_hang, hung, busy, starting) for _ in range(HUNG_AT_A_TIME)]:
            one.result()
    return [
        Figure("scheduler SIGKILL → loss noticed", "s", killed.step("noticed"), 0.5),
        Figure("scheduler SIGKILL → all slots running again", "s", killed.by_records, 1.5),
        Figure("scheduler SIGKILL → all slots running again, worst", "s", [max(killed.by_records)]),
        Figure("worker SIGKILL → loss noticed", "s", workers.step("noticed"), 0.5),
        Figure("worker SIGKILL → its jobs running again", "s", workers.step("running again"), 1.5),
        Figure("scheduler SIGSTOP → shown as suspect", "s", hung.step("suspect"), 1.5),
        Figure("scheduler SIGSTOP → declared lost", "s", hung.step("noticed"), 5.25),
        Figure("scheduler SIGSTOP → all slots running again", "s", hung.by_records, 7.0),
        Figure("scheduler busy for 4 s → epochs lost", "epochs", busy, 0),
        *planning.measure(),
    ]
