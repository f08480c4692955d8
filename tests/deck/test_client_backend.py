"""The client against a real backend: the feed, the acts, the job list, and Dask's word beside the records."""

import asyncio
import json
import time

import pytest
from distributed import Client, Future
from jobdeck_tui.client import decode
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.dask_dashboard import DaskDashboard
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.feed import ActSeen, Connected, EventsSeen, Feed, JobsChanged, OverviewSeen
from jobdeck_tui.client.stream import EventArrived, JobStream
from jobdeck_tui.core.agreement import Agreement, dask_unfinished, records_unfinished

LONG = json.dumps({"stages": [{"name": "wait", "seconds": 60}]})
SHORT = json.dumps({"stages": [{"name": "read", "seconds": 0.1}]})


def asking(url, work):
    """Run ``work(api)`` on a client of its own, within a minute."""

    async def run():
        async with asyncio.timeout(60), Api(url) as api:
            return await work(api)

    return asyncio.run(run())


async def submit(api, job_id, text=SHORT, **more):
    return await api.submit({"agent_type": "probe", "input": text, "job_id": job_id} | more)


class Reading:
    """Everything a feed has told so far; frames of different kinds may come in any order."""

    def __init__(self, api, **options):
        self.feed = Feed(api, **options)
        self._items = self.feed.items()
        self.told = []

    async def until(self, condition):
        """Read on until something told meets the condition; give it."""
        while True:
            found = next(filter(None, map(condition, self.told)), None)
            if found:
                return found
            self.told.append(await anext(self._items))

    async def close(self):
        await self._items.aclose()


def row_of(job_id, *states):
    def condition(item):
        rows = item.jobs if isinstance(item, JobsChanged) else ()
        return next((row for row in rows if row.job_id == job_id and row.state in states), None)

    return condition


def events_of(item, job_id):
    """The events of this job that an item holds."""
    texts = item.texts if isinstance(item, EventsSeen) else ()
    return [event for text in texts if (event := decode.event(json.loads(text))).job_id == job_id]


def acknowledged(job_id):
    def condition(item):
        row = row_of(job_id, "cancelled")(item)
        return row if row and not row.cancelling else None

    return condition


def test_the_feed_tells_an_accepted_job_to_its_end_and_the_acts_on_it(url):
    async def work(api):
        reading = Reading(api)
        assert await reading.until(lambda item: isinstance(item, OverviewSeen))
        assert [type(item) for item in reading.told] == [Connected, OverviewSeen]
        await submit(api, "fed")
        assert (await reading.until(row_of("fed", "succeeded"))).stages_done == 1
        await submit(api, "stopped", LONG)
        running = await reading.until(row_of("stopped", "running"))
        after = await api.act("cancel", "stopped", version=running.version, reason="enough")
        assert after.version > running.version
        act = await reading.until(lambda item: isinstance(item, ActSeen) and item.row)
        assert (act.act, act.job_id, act.reason) == ("cancel", "stopped", "enough")
        cancelled = await reading.until(acknowledged("stopped"))
        with pytest.raises(Refused) as caught:
            await api.act("cancel", "stopped", version=cancelled.version)
        assert caught.value.status == 409
        assert caught.value.current.state == "cancelled"
        await reading.close()

    asking(url, work)


def test_the_feed_with_events_tells_every_stored_event_but_tokens(url):
    def ended(item):
        return [
            event
            for event in events_of(item, "told")
            if event.type == "workflow.end" and "stage" not in event.payload.get("metadata", {})
        ]

    async def work(api):
        reading = Reading(api, events=True)
        await reading.until(lambda item: isinstance(item, OverviewSeen))
        await submit(api, "told", json.dumps({"stages": [{"name": "a", "seconds": 0.05, "tokens": 5}]}))
        await reading.until(ended)
        told = [event for item in reading.told for event in events_of(item, "told")]
        stored = [
            item.event async for item in JobStream(api, "told").items() if isinstance(item, EventArrived)
        ]
        chunks = [event.seq for event in stored if event.type == "llm.chunk"]
        assert chunks
        last = told[-1].seq
        assert [event.seq for event in told] == [n for n in range(1, last + 1) if n not in chunks]
        await reading.close()

    asking(url, work)


def test_a_cursor_brings_what_changed_while_nobody_listened(url):
    async def work(api):
        before = Reading(api)
        await submit(api, "before")
        await before.until(row_of("before", "succeeded"))
        await before.until(lambda _item: before.feed.cursor)
        await before.close()
        await submit(api, "between")
        assert [item async for item in JobStream(api, "between").items()][-1].status == "success"
        after = Reading(api)
        after.feed.cursor = before.feed.cursor
        assert await after.until(row_of("between", "succeeded"))
        assert after.told[0] == Connected(resumed=True)
        await after.close()

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
        reading = Reading(api)
        await reading.until(lambda item: isinstance(item, OverviewSeen) and item.overview.slots_total == 2)
        await reading.close()
        assert (await api.overview()).slots_total == 2
        assert len((await api.cluster()).workers) == 2
        assert {queue.name for queue in await api.queues()} >= {detail.job.queue}
        assert await api.workflows()
        assert (await api.report("read-me")).job_id == "read-me"
        assert (await api.set_paused(detail.job.queue, paused=True)).paused
        assert (await api.overview()).paused == (detail.job.queue,)
        assert not (await api.set_paused(detail.job.queue, paused=False)).paused

    asking(url, work)


def cancel_somewhere_else(address):
    """Take one task away from Dask behind jobdeck's back."""
    with Client(address) as foreign:
        keys = foreign.run_on_scheduler(lambda dask_scheduler: [task.key for task in dask_scheduler.queued])
        foreign.cancel([Future(keys[-1], client=foreign)], force=True)


class Comparing:
    """Looks at Dask and at the records four times a second, as the deck does, and remembers what differs."""

    def __init__(self, api):
        self._api = api
        self._agreement = Agreement()
        self._dashboard = None
        self.records = self.said = None

    async def until(self, condition):
        """Look until the condition holds for (Dask's picture, the records, what is said)."""
        while True:
            self.records = await self._api.overview()
            if self.records.scheduler.state == "up":
                self._dashboard = self._dashboard or DaskDashboard(self.records.scheduler.dashboard_url)
                dask, now = await self._dashboard.read(), time.time()
                self._agreement.observe(dask, self.records, now)
                self.said = [difference.text for difference in self._agreement.differences(now)]
                if condition(dask, self.records, self.said):
                    return self.said
            await asyncio.sleep(0.25)

    async def close(self):
        await self._dashboard.close()


def test_a_key_that_a_foreign_client_cancelled_is_said_to_be_missing_until_it_is_handed_over_again(url):
    def settled(dask, records, said):
        return not said and dask_unfinished(dask) == records_unfinished(records) == 5

    async def work(api):
        for number in range(5):
            await submit(api, f"held-{number}", LONG)
        comparing = Comparing(api)
        await comparing.until(settled)
        await asyncio.to_thread(cancel_somewhere_else, comparing.records.scheduler.address)
        said = await comparing.until(lambda _dask, _records, said: said)
        assert said == ["Dask does not know 1 job that the records say it holds."]
        await comparing.until(settled)
        await comparing.close()
        for number in range(5):
            await api.act("expire", f"held-{number}")

    asking(url, work)
