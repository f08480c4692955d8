"""The tailer: noticed soon, in order, nothing twice, the slow told so (R27, R28, R29)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from jobdeck_backend.clock import now
from jobdeck_backend.commands.notices import notice
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.store import events, tailer
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tailer import Subscription, Tailer


class Log:
    """A database with two jobs, and a tailer at its end; written through a connection the tailer cannot see."""

    def __init__(self, place: Path | str) -> None:
        self.database = Database(place, synchronous="NORMAL")
        self.elsewhere = Database(place, synchronous="NORMAL")
        with self.elsewhere.write() as tx:
            for job_id in ("one", "two"):
                submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id), now())
        self.tailer = Tailer(self.database)

    def append(self, job_id: str, count: int = 1) -> None:
        with self.elsewhere.write() as tx:
            events.append(tx, job_id, [notice("log", now(), "x") for _ in range(count)], now())


class Heard:
    """What a listener of the tailer heard."""

    def __init__(self, told_by: Tailer) -> None:
        self.events: list[StoredEvent] = []
        self._more = asyncio.Event()
        told_by.listen(self._hear)

    def _hear(self, page: Sequence[StoredEvent]) -> None:
        self.events.extend(page)
        self._more.set()

    async def wait(self, count: int) -> None:
        """Until so many were heard."""
        async with asyncio.timeout(10):
            while len(self.events) < count:
                await self._more.wait()
                self._more.clear()


@asynccontextmanager
async def running(place: Path | str) -> AsyncIterator[Log]:
    log = Log(place)
    log.tailer.start()
    yield log
    await log.tailer.stop()
    log.database.close()
    log.elsewhere.close()


async def gather(subscription: Subscription, count: int) -> list[StoredEvent]:
    """Take until ``count`` events arrived."""
    taken: list[StoredEvent] = []
    async with asyncio.timeout(10):
        while len(taken) < count:
            await subscription.wait()
            batches, behind = subscription.take()
            assert not behind
            taken += [event for batch in batches for event in batch.events]
    return taken


def in_loop(place: Path | str, test: Callable[[Log], Awaitable[None]]) -> None:
    async def go() -> None:
        async with running(place) as log:
            await test(log)

    asyncio.run(go())


def test_a_commit_of_another_process_is_noticed_without_a_poke(place: Path | str) -> None:
    async def test(log: Log) -> None:
        with log.tailer.subscribe("one") as subscription:
            await asyncio.to_thread(log.append, "one", 3)
            assert [event.seq for event in await gather(subscription, 3)] == [2, 3, 4]

    in_loop(place, test)


def test_a_subscriber_gets_its_own_job_only_and_nothing_older(place: Path | str) -> None:
    async def test(log: Log) -> None:
        with log.tailer.subscribe("one") as one, log.tailer.subscribe("two") as two:
            await asyncio.to_thread(log.append, "two", 2)
            await asyncio.to_thread(log.append, "one", 1)
            assert [(event.job_id, event.seq) for event in await gather(one, 1)] == [("one", 2)]
            assert {event.job_id for event in await gather(two, 2)} == {"two"}

    in_loop(place, test)


def test_r28_a_thousand_subscribers_get_the_same_from_one_read(place: Path | str) -> None:
    async def test(log: Log) -> None:
        managers = [log.tailer.subscribe("one") for _ in range(1000)]
        subscriptions = [manager.__enter__() for manager in managers]
        assert log.tailer.subscribers == 1000
        await asyncio.to_thread(log.append, "one", 5)
        taken = [await gather(subscription, 5) for subscription in subscriptions]
        assert all(one == taken[0] for one in taken)
        for manager in managers:
            manager.__exit__(None, None, None)
        assert log.tailer.subscribers == 0

    in_loop(place, test)


def test_r28_a_slow_reader_is_told_that_it_is_behind_and_holds_no_memory(place: Path | str) -> None:
    async def test(log: Log) -> None:
        heard = Heard(log.tailer)
        with log.tailer.subscribe("one") as subscription:
            await asyncio.to_thread(log.append, "one", tailer.BACKLOG_MAX + 1)
            await heard.wait(tailer.BACKLOG_MAX + 1)
            batches, behind = subscription.take()
            assert behind
            assert sum(len(batch.events) for batch in batches) < tailer.BACKLOG_MAX
            assert log.tailer.dropped == 1
            await asyncio.to_thread(log.append, "one")
            assert len(await gather(subscription, 1)) == 1

    in_loop(place, test)


def test_listeners_get_every_event_once_in_commit_order(place: Path | str) -> None:
    async def test(log: Log) -> None:
        heard = Heard(log.tailer)
        for _ in range(50):
            await asyncio.gather(*(asyncio.to_thread(log.append, job_id, 3) for job_id in ("one", "two")))
        await heard.wait(300)
        assert len({event.position for event in heard.events}) == 300
        for job_id in ("one", "two"):
            assert [event.seq for event in heard.events if event.job_id == job_id] == list(range(2, 152))

    in_loop(place, test)


def test_stopping_lets_every_waiting_reader_go(place: Path | str) -> None:
    async def test(log: Log) -> None:
        with log.tailer.subscribe("one") as subscription:
            waiting = asyncio.create_task(subscription.wait())
            await asyncio.sleep(0)
            log.tailer.release_all()
            async with asyncio.timeout(5):
                await waiting
            assert subscription.take() == ([], False)

    in_loop(place, test)


def test_a_listener_that_fails_stops_nobody_else_from_hearing(place: Path | str) -> None:
    async def test(log: Log) -> None:
        def fail(_page: Sequence[StoredEvent]) -> None:
            raise ValueError("a listener's own trouble")

        heard = Heard(log.tailer)
        log.tailer.listen(fail)
        for count in range(1, 4):
            await asyncio.to_thread(log.append, "one")
            await heard.wait(count)
        assert [event.seq for event in heard.events] == [2, 3, 4]

    in_loop(place, test)
