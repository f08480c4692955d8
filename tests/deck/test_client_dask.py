"""Dask's own picture, read from a real scheduler's dashboard."""

import asyncio
import time

import httpx
import pytest
from distributed import Client
from jobdeck_tui.client.dask_dashboard import DaskDashboard
from jobdeck_tui.client.dask_metrics import identity, scheduler_metrics, worker_metrics
from jobdeck_tui.client.errors import NotReachable, NotUnderstood

from .dask_cluster import dask_cluster
from .processes import wait_until
from .wayward import answer, wayward


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """A scheduler and one worker of one thread; gives its address and its dashboard's."""
    with dask_cluster(tmp_path_factory.mktemp("dask")) as addresses:
        yield addresses


def read(url):
    async def run():
        dashboard = DaskDashboard(url)
        try:
            return await dashboard.read()
        finally:
            await dashboard.close()

    return asyncio.run(run())


def test_a_busy_dask_that_cannot_describe_itself_is_read_all_the_same(dask):
    address, url = dask

    async def watch(client):
        dashboard = DaskDashboard(url)
        statuses, pictures = set(), []
        async with httpx.AsyncClient() as plain:
            first = await dashboard.read()
            while not first.workers:
                first = await dashboard.read()
            futures = client.map(time.sleep, [0.05] * 60, pure=False)
            while 500 not in statuses or len(pictures) < 10:
                statuses.add((await plain.get(f"{url}/json/identity.json")).status_code)
                pictures.append(await dashboard.read())
        await dashboard.close()
        return first, pictures, futures

    with Client(address) as client:
        first, pictures, _ = asyncio.run(watch(client))
    assert {seen.scheduler_id for seen in pictures} == {first.scheduler_id}
    assert {[worker.name for worker in seen.workers] == ["w0"] for seen in pictures} == {True}
    assert all(worker.last_seen_age < 2 for seen in pictures for worker in seen.workers)
    assert any(worker.executing for seen in pictures for worker in seen.workers)


def test_tasks_and_workers_are_told_as_dask_tells_them(dask):
    # The last test on this cluster: its worker's thread sleeps on.
    address, url = dask
    with Client(address) as client:
        wait_until(lambda: read(url).workers)
        futures = [client.submit(time.sleep, 60, key=f"sleep-{n}", pure=False) for n in range(20)]
        seen = wait_until(lambda: (now := read(url)).workers[0].executing == 1 and now)
        assert seen.scheduler_id == client.scheduler_info()["id"]
        assert seen.tasks["queued"] + seen.tasks["processing"] == 20
        (worker,) = seen.workers
        assert (worker.name, worker.threads) == ("w0", 1)
        assert worker.memory_bytes > 1 << 20
        assert 0 <= worker.last_seen_age < 5
        client.cancel(futures[-3:])
        wait_until(lambda: sum(read(url).tasks[state] for state in ("queued", "processing")) == 17)


def test_a_dashboard_that_is_not_there_or_not_dasks_is_told_apart():
    async def run():
        async with wayward([answer(200, {})]) as server:
            dashboard = DaskDashboard(server.url + "/status")
            try:
                await dashboard.read()
            finally:
                await dashboard.close()

    with pytest.raises(NotUnderstood, match="prometheus_client"):
        asyncio.run(run())
    with pytest.raises(NotReachable):
        read("http://127.0.0.1:9")


def test_a_hostile_dashboard_is_no_picture():
    for content in ("{}", "[]", '{"id": 1}', '{"id": "S", "workers": {"a": {}}}', "no"):
        with pytest.raises(NotUnderstood):
            identity(content, 0.0)
    assert identity('{"id": "S\\u001b[31m"}', 0.0) == ("S", ())
    with pytest.raises(NotUnderstood):
        scheduler_metrics('dask_scheduler_tasks{state="queued"} 1e999\n')
    assert worker_metrics("") is None
