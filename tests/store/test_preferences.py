"""Preferences: one interface over both databases and Redis; whoever writes late changes nothing (R33, R34)."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import orjson
import pytest
from jobdeck_backend.errors import Unavailable
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.preferences import NOTHING, Namespace, PreferenceStore, SqlPreferences
from jobdeck_backend.store.writer import Writer
from redis_server import RedisServer

OURS = Namespace("acme", "ann")
INCREMENTS = 200
REPLICAS = 2

Replica = Callable[[], PreferenceStore]
"""Makes one as another process has it: with connections of its own."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def replica(request: pytest.FixtureRequest) -> Iterator[Replica]:
    with ExitStack() as ends:
        if request.param == "redis":
            server: RedisServer = request.getfixturevalue("redis")
            from jobdeck_backend.store.redis_preferences import RedisPreferences

            yield lambda: RedisPreferences(server.url)
            return
        name = "file" if request.param == "sqlite" else "new_postgres_database"
        made = request.getfixturevalue(name)
        place = made() if callable(made) else made

        def sql() -> PreferenceStore:
            database = Database(place, synchronous="NORMAL")
            ends.callback(database.close)
            writer = Writer(database)
            ends.callback(writer.stop)
            return SqlPreferences(database, writer)

        yield sql


async def increment(store: PreferenceStore, namespace: Namespace) -> int:
    """Add one, however often somebody else is faster; answers how often that was."""
    for late in range(10_000):
        read = await store.read(namespace)
        value = orjson.dumps({"count": read.value.get("count", 0) + 1}).decode()
        if await store.write(namespace, value, read.revision):
            return late
    raise AssertionError("it never comes to its turn")


def test_r34_i19_two_replicas_of_200_increments_each_make_400(replica: Replica) -> None:
    late: list[int] = []
    namespace = Namespace("acme", "counted")
    together = threading.Barrier(REPLICAS)

    async def count(store: PreferenceStore) -> None:
        together.wait(20)
        late.append(sum([await increment(store, namespace) for _ in range(INCREMENTS)]))
        await store.close()

    threads = [threading.Thread(target=lambda: asyncio.run(count(replica()))) for _ in range(REPLICAS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    found = asyncio.run(_read(replica(), namespace))
    assert (found.revision, found.value) == (REPLICAS * INCREMENTS, {"count": REPLICAS * INCREMENTS})
    assert len(late) == REPLICAS
    assert sum(late) > 0, "they met"


async def _read(store: PreferenceStore, namespace: Namespace):
    found = await store.read(namespace)
    await store.close()
    return found


def test_r34_a_stale_write_changes_nothing_and_the_first_one_is_written_once(replica: Replica) -> None:
    async def walk() -> None:
        store = replica()
        assert await store.read(OURS) == NOTHING
        assert not await store.write(OURS, "{}", 1), "nobody wrote a first revision"
        assert await store.write(OURS, '{"theme":"night"}', 0)
        assert not await store.write(OURS, '{"theme":"day"}', 0)
        assert await store.write(OURS, '{"theme":"dusk"}', 1)
        assert not await store.write(OURS, '{"theme":"day"}', 1)
        found = await store.read(OURS)
        assert (found.revision, found.value) == (2, {"theme": "dusk"})
        await store.close()

    asyncio.run(walk())


def test_r33_no_neighbour_is_read_or_written(replica: Replica) -> None:
    neighbours = [
        *(Namespace("acme", "an"), Namespace("acme", "ann2"), Namespace("acm", "eann"), Namespace("", "")),
        *(Namespace('acme","ann', "x"), Namespace("acme", "ann", "other"), Namespace("acme", "*")),
    ]

    async def walk() -> None:
        store = replica()
        for number, one in enumerate(neighbours):
            assert await store.write(one, f'{{"own":{number}}}', 0), one
        for number, one in enumerate(neighbours):
            assert (await store.read(one)).value == {"own": number}
        assert (await store.read(Namespace("acme", "nobody"))) == NOTHING
        await store.close()

    asyncio.run(walk())


def test_a_redis_that_is_away_is_unavailable() -> None:
    redis_preferences = pytest.importorskip("jobdeck_backend.store.redis_preferences")

    async def walk() -> None:
        store = redis_preferences.RedisPreferences("redis://127.0.0.1:1")
        with pytest.raises(Unavailable, match="cannot be reached"):
            await store.read(OURS)
        with pytest.raises(Unavailable):
            await store.write(OURS, "{}", 0)
        await store.close()

    asyncio.run(walk())
