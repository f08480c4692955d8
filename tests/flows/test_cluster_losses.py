"""Whose door a worker's end is laid at, moment by moment (R19, R23): no Dask, only what the cluster knows."""

import asyncio
from pathlib import Path

from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.scheduling.forks import ForkedProcess
from jobdeck_backend.settings import Settings

ATTEMPT = Attempt("job", 1, 1, "w0-e1", pid=1, epoch=1, started_at=0.0, heartbeat_at=0.0)


async def _a_cluster(directory: Path) -> EmbeddedCluster:
    async def next_epoch() -> int:
        return 1

    cluster = EmbeddedCluster(Settings(state_dir=directory), next_epoch, None, None)  # type: ignore[arg-type]
    cluster.epoch, cluster.state = 1, "up"
    cluster.scheduler = ForkedProcess("scheduler-e1", lambda _process: None)
    cluster.workers = {"w0-e1": ForkedProcess("w0-e1", lambda _process: None)}
    return cluster


def test_r23_a_worker_that_ended_is_no_loss_of_its_own_before_that_was_judged(tmp_path: Path) -> None:
    async def go() -> None:
        cluster = await _a_cluster(tmp_path)
        assert cluster.worker_gone(ATTEMPT) is None
        cluster.workers["w0-e1"].has_exited(-9)
        assert cluster.worker_gone(ATTEMPT) is None, "its scheduler may be what took it"
        del cluster.workers["w0-e1"]
        assert cluster.worker_gone(ATTEMPT) == "worker lost"

    asyncio.run(go())


def test_r23_a_worker_of_a_dead_scheduler_is_the_schedulers_loss_though_the_state_still_says_up(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        cluster = await _a_cluster(tmp_path)
        assert cluster.scheduler is not None
        cluster.scheduler.has_exited(-9)
        cluster.workers.pop("w0-e1").has_exited(-9)
        assert cluster.state == "up"
        assert cluster.worker_gone(ATTEMPT) == "scheduler lost"

    asyncio.run(go())
