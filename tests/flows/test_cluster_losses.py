"""Losses, moment by moment (R19, R23): when a scheduler is suspected, whose loss a worker's end is. No Dask."""

import asyncio
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop
from jobdeck_backend.clock import now
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


class Silent(EmbeddedCluster):
    """A cluster whose scheduler does not answer; ``states`` is what it was taken for, and when."""

    def __init__(self, directory: Path) -> None:
        settings = Settings(state_dir=directory, scheduler_suspect_s=0.3, scheduler_lost_s=0.7)
        super().__init__(settings, None, self, None)  # type: ignore[arg-type]
        self.state = "up"
        self.asked = count()
        self.states: list[tuple[str, float]] = []
        self.client: Any = SimpleNamespace(scheduler=SimpleNamespace(jobdeck_snapshot=self._never))
        self._began = now()

    async def _never(self) -> None:
        next(self.asked)
        await asyncio.Event().wait()

    def state_changed(self) -> None:
        self.states.append((self.state, now() - self._began))

    async def watch(self, begin_after_s: float) -> float:
        """Ask until it is given up; answers after how long."""
        loop = asyncio.get_running_loop()
        begin = loop.create_future()
        loop.call_later(begin_after_s, begin.set_result, None)
        await begin
        self._began = now()
        await self._probe()
        return now() - self._began


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_r23_a_silent_scheduler_is_suspected_and_lost_at_its_bounds_and_not_a_probe_later(
    tmp_path: Path, loop: Any
) -> None:
    """Many, at different parts of a millisecond: a timer that fires a little early is a matter of chance."""

    async def go() -> tuple[list[Silent], list[float]]:
        clusters = [Silent(tmp_path) for _ in range(40)]
        return clusters, await asyncio.gather(
            *(one.watch(number * 0.0037) for number, one in enumerate(clusters))
        )

    with asyncio.Runner(loop_factory=loop) as runner:
        clusters, lost = runner.run(go())
    asked = {next(one.asked) for one in clusters}
    assert asked == {2}, "one question outlasts each bound"
    suspected = [at for one in clusters for state, at in one.states if state == "suspect"]
    assert len(suspected) == len(clusters)
    assert min(suspected) >= 0.3
    assert min(lost) >= 0.7
