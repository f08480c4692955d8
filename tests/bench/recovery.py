"""Losses and hangs as drills time them; by the records, how long until every slot is at work again."""

import os
import signal
import time
from typing import Any

from tests.bench.figures import Figure, rounds
from tests.bench.server import Server, wait_until

JOBS = 6
SLOTS = 2
STAGE_S = 600.0


def drill(server: Server, fault: str) -> dict[str, Any]:
    """Inject a fault and wait for the drill's end; its steps by name, with when each was seen."""
    answer = server.http.post("/v1/ops/drills", json={"fault": fault, "confirm": fault})
    answer.raise_for_status()
    path = f"/v1/ops/drills/{answer.json()['id']}"
    wait_until(lambda: server.http.get(path).json()["state"] != "running", 60, look_s=0.1)
    ended = server.http.get(path).json()
    failed = [step for step in ended["timeline"] if step["verdict"] == "failed"]
    assert not failed, failed
    return {step["name"]: step["seen"] for step in ended["timeline"]}


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


def killed_to_all_running_s(server: Server) -> float:
    """SIGKILL the scheduler; seconds until an attempt of the next epoch runs on every slot, by the records."""
    epoch = server.row("SELECT max(epoch) FROM attempts")[0]
    killed_at = time.time()
    os.kill(server.scheduler_pid(), signal.SIGKILL)
    started = "SELECT started_at FROM attempts WHERE epoch > ? ORDER BY started_at"
    wait_until(lambda: len(server.rows(started, epoch)) >= SLOTS, 30)
    return server.rows(started, epoch)[SLOTS - 1][0] - killed_at


def measure(server: Server) -> list[Figure]:
    """Twenty of each: killed by hand, killed by a drill, stopped by a drill, a worker killed."""
    by_hand, killed, stopped, workers = [], [], [], []
    for _ in range(rounds(20, 3)):
        with Work(server):
            by_hand.append(killed_to_all_running_s(server))
        with Work(server):
            killed.append(drill(server, "scheduler-loss"))
        with Work(server):
            workers.append(drill(server, "worker-loss"))
    for _ in range(rounds(20, 2)):
        with Work(server):
            stopped.append(drill(server, "scheduler-hang"))
    return [
        Figure("scheduler SIGKILL → loss noticed", "s", _seen(killed, "noticed"), 0.5),
        Figure("scheduler SIGKILL → all slots running again", "s", by_hand, 1.5),
        Figure("scheduler SIGKILL → all slots running again, worst", "s", [max(by_hand)]),
        Figure("worker SIGKILL → loss noticed", "s", _seen(workers, "noticed"), 0.5),
        Figure("worker SIGKILL → its jobs running again", "s", _seen(workers, "running again"), 1.5),
        Figure("scheduler SIGSTOP → shown as suspect", "s", _seen(stopped, "suspect"), 1.5),
        Figure("scheduler SIGSTOP → declared lost", "s", _seen(stopped, "noticed"), 5.25),
        Figure("scheduler SIGSTOP → all slots running again", "s", _seen(stopped, "running again"), 7.0),
    ]


def _seen(drills: list[dict[str, Any]], step: str) -> list[float]:
    return [one[step] for one in drills]
