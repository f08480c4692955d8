"""The client against a real backend: the feed, the acts, the job list, and Dask's word beside the records."""

import asyncio
import json
import time

import pytest
from distributed import Client, Future
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.dask_dashboard import DaskDashboard
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.feed import ActSeen, Connected, EventSeen, Feed, JobsChanged, OverviewSeen
from jobdeck_tui.client.stream import JobStream
from jobdeck_tui.core.agreement import Agreement, dask_unfinished, records_unfinished

from .processes import backend

LONG = json.dumps({"stages": [{"name": "wait", "seconds": 60}]})
SHORT = json.dumps({"stages": [{"name": "read", "seconds": 0.1}]})


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A backend of two workers."""
    with backend(tmp_path_factory.mktemp("client") / "state") as (_, instance):
        yield instance.url


def asking(url, work):
    """Run ``work(api)`` on a client of its own, within a minute."""

    async def run():
        async with asyncio.timeout(60), Api(url) as api:
            return await work(api)

    return asyncio.run(run())


async def submit(api, job_id, text=SHORT, **more):
    return await api.submit({"agent_type": "probe", "input": text, "job_id": job_id} | more)


async def until(feed, condition):
    """Read the feed until an item meets the condition; give it."""
    async for item in feed:
        found = condition(item)
        if found:
            return found
    raise AssertionError("the feed ended")


def row_of(job_id, *states):
    def condition(item):
        rows = item.jobs if isinstance(item, JobsChanged) else ()
        return next((row for row in rows if row.job_id == job_id and row.state in states), None)

    return condition


def test_the_feed_tells_an_accepted_job_to_its_end_and_the_acts_on_it(url):
    async def work(api):
        feed = Feed(api, events=True).items()
        assert isinstance(await anext(feed), Connected)
        assert isinstance(await anext(feed), OverviewSeen)
        await submit(api, "fed")
        assert (await until(feed, row_of("fed", "succeeded"))).stages_done == 1
        await submit(api, "stopped", LONG)
        running = await until(feed, row_of("stopped", "running"))
        after = await api.act("cancel", "stopped", version=running.version, reason="enough")
        assert after.version > running.version
        act = await until(feed, lambda item: isinstance(item, ActSeen) and item.row)
        assert (act.act, act.job_id, act.reason) == ("cancel", "stopped", "enough")
        cancelled = await until(feed, row_of("stopped", "cancelled"))
        while cancelled.cancelling:
            cancelled = await until(feed, row_of("stopped", "cancelled"))
        with pytest.raises(Refused) as caught:
            await api.act("cancel", "stopped", version=cancelled.version)
        assert caught.value.status == 409
        assert caught.value.current.state == "cancelled"
        await feed.aclose()

    asking(url, work)


def test_the_feed_with_events_tells_every_stored_event_but_tokens(url):
    async def work(api):
        feed = Feed(api, events=True).items()
        await until(feed, lambda item: isinstance(item, OverviewSeen))
        await submit(api, "told", json.dumps({"stages": [{"name": "a", "seconds": 0.05, "tokens": 5}]}))
        kinds: list[str] = []
        while "workflow.end" not in kinds or kinds.count("workflow.end") < 2:
            event = await until(feed, lambda item: isinstance(item, EventSeen) and item.event)
            if event.job_id == "told":
                kinds.append(event.type)
        assert "llm.chunk" not in kinds
        await feed.aclose()

    asking(url, work)


def test_a_cursor_brings_exactly_what_changed_while_nobody_listened(url):
    async def work(api):
        first = Feed(api)
        items = first.items()
        await submit(api, "before")
        await until(items, row_of("before", "succeeded"))
        await anext(items)  # the reader asked for more: the rows before were taken
        await items.aclose()
        await submit(api, "between")
        assert [item async for item in JobStream(api, "between").items()][-1].status == "success"
        again = Feed(api)
        again.cursor = first.cursor
        items = again.items()
        assert (await anext(items)).resumed
        assert await until(items, row_of("between", "succeeded"))
        await items.aclose()

    asking(url, work)


def test_every_read_of_the_operations_api_is_understood(url):
    async def work(api):
        await submit(api, "read-me", "{}", deadline_seconds=300)
        pages = [page async for page in api.pages()]
        assert sum(page.unreadable for page in pages) == 0
        assert "read-me" in {row.job_id for page in pages for row in page.jobs}
        found = [page async for page in api.pages("id:read-")]
        assert [row.job_id for page in found for row in page.jobs] == ["read-me"]
        detail = await api.job("read-me")
        assert detail.why_text
        assert detail.job.deadline == pytest.approx(time.time() + 300, abs=30)
        assert (await api.why("read-me"))[1]
        assert (await api.overview()).slots_total == 2
        assert len((await api.cluster()).workers) == 2
        assert {queue.name for queue in await api.queues()} >= {detail.job.queue}
        assert await api.workflows()
        assert (await api.report("read-me")).job_id == "read-me"
        await api.pause_queue(detail.job.queue)
        assert (await api.overview()).paused == (detail.job.queue,)
        await api.resume_queue(detail.job.queue)

    asking(url, work)


def cancel_somewhere_else(address):
    """Take one task away from Dask behind jobdeck's back."""
    with Client(address) as foreign:
        keys = foreign.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.queued])
        foreign.cancel([Future(keys[-1], client=foreign)], force=True)


def test_a_key_that_a_foreign_client_cancelled_is_said_to_be_missing(url):
    async def work(api):
        for number in range(5):
            await submit(api, f"held-{number}", LONG)
        agreement, dashboard = Agreement(), None
        cancelled = False
        watched_from = time.time()
        while True:
            records = await api.overview()
            dashboard = dashboard or DaskDashboard(records.scheduler.dashboard_url)
            dask = await dashboard.read()
            agreement.observe(dask, records, time.time())
            said = [difference.text for difference in agreement.differences(time.time())]
            settled = dask_unfinished(dask) == records_unfinished(records) == 5
            if not cancelled:
                assert not said
                if settled and time.time() - watched_from > 3:
                    await asyncio.to_thread(cancel_somewhere_else, records.scheduler.address)
                    cancelled = True
            elif said:
                break
            await asyncio.sleep(0.25)
        await dashboard.close()
        for number in range(5):
            await api.act("expire", f"held-{number}")
        return said

    assert asking(url, work) == ["Dask does not know 1 job that the records say it holds."]
