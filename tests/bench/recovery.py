"""The scheduler killed: how long until a job of a new epoch has started, by the records' own times."""

import os
import signal
import time

from tests.bench.figures import Figure, rounds
from tests.bench.server import Server, wait_until

JOBS = 6
STAGE_S = 600.0


def kill_to_running_s(server: Server) -> float:
    """SIGKILL the scheduler while both workers run; seconds until the first attempt of the next epoch."""
    both_run = "SELECT count(*) FROM jobs WHERE status = 'running'"
    wait_until(lambda: server.row(both_run)[0] == 2, 30)
    server.wait_for_dask()
    epoch = server.row("SELECT max(epoch) FROM attempts")[0]
    killed_at = time.time()
    os.kill(server.scheduler_pid(), signal.SIGKILL)
    started = "SELECT min(started_at) FROM attempts WHERE epoch > ?"
    wait_until(lambda: server.row(started, epoch)[0] is not None, 30)
    return server.row(started, epoch)[0] - killed_at


def measure(server: Server) -> list[Figure]:
    """Long jobs that are recovered again and again; new ones take the place of those that lost too much."""
    taken = []
    for _ in range(rounds(10, 3)):
        jobs = [server.submit({"stages": [{"name": "long", "seconds": STAGE_S}]}) for _ in range(JOBS)]
        taken.append(kill_to_running_s(server))
        for job_id in jobs:
            server.cancel(job_id)
        server.wait_until_drained()
    return [
        Figure("scheduler SIGKILL → first job running again", "s", taken, 2.0),
        Figure("scheduler SIGKILL → first job running again, worst", "s", [max(taken)]),
    ]
