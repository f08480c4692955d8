"""No-op tasks on jobdeck's own kind of cluster, without jobdeck: same processes, same configuration."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import dask
from dask._expr import LLGExpr
from dask._task_spec import Task
from distributed import Client
from distributed.spans import SpanMetadata
from jobdeck_backend.scheduling.forks import ForkServer

WORKERS = 2


def no_op() -> None:
    """What a task does."""


async def tasks_per_second(directory: Path, tasks: int) -> float:
    """Submit all tasks in one graph, held back in the scheduler like jobs are, and wait for the last."""
    dask.config.set({"distributed.diagnostics.computations.nframes": 0})
    forks = ForkServer(directory / "bare-dask.log")
    await forks.start()
    try:
        log = directory / "bare-dask.log"
        scheduler = await forks.fork("scheduler", "bare", log, lambda _process: None, port=0)
        address = (await scheduler.ready())["address"]
        workers = [
            await forks.fork(
                "worker",
                f"bare{number}",
                log,
                lambda _process: None,
                scheduler=address,
                threads=1,
                local_directory=str(directory),
            )
            for number in range(WORKERS)
        ]
        for worker in workers:
            await worker.ready()
        async with Client(address, asynchronous=True, set_as_default=False) as client:
            await _run(client, 100)
            began = time.perf_counter()
            await _run(client, tasks)
            return tasks / (time.perf_counter() - began)
    finally:
        with suppress(ProcessLookupError):
            await forks.stop()


async def _run(client: Client, tasks: int) -> None:
    keys = [("bare", uuid4().hex, number) for number in range(tasks)]
    futures = client._graph_to_futures(
        LLGExpr({key: Task(key, no_op, _data_producer=True) for key in keys}, _determ_token=uuid4().hex),
        keys,
        internal_priority={key: position for position, key in enumerate(keys)},
        user_priority=0,
        fifo_timeout="100 ms",
        actors=False,
        span_metadata=SpanMetadata(collections=[{"type": "Future"}]),
    )
    await asyncio.gather(*(future._state.wait() for future in futures.values()))
