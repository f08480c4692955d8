"""Preferences in Redis, for servers that share one (WATCH, MULTI, EXEC): an optional extra, ``jobdeck[redis]``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.exceptions import RedisError, WatchError

from jobdeck_backend.errors import Unavailable
from jobdeck_backend.store.preferences import NOTHING, Namespace, Preferences
from jobdeck_backend.store.trouble import cause_of

PREFIX = "jobdeck:"
ANSWER_S = 5.0
"""How long the server may take to answer."""


class RedisPreferences:
    """One key a namespace; its value is the JSON array ``[revision, value]``."""

    def __init__(self, url: str) -> None:
        """``url`` is ``redis://…`` or ``rediss://…``. Connects at the first use. Raises ``ValueError``."""
        self._client = Redis.from_url(url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S)

    async def read(self, namespace: Namespace) -> Preferences:
        """See ``PreferenceStore``."""
        async with _reached():
            return _preferences(await self._client.get(_key(namespace)))

    async def write(self, namespace: Namespace, value: str, expected: int) -> bool:
        """See ``PreferenceStore``. The key is watched from before its revision is read: where somebody writes it
        in between, EXEC does nothing."""
        key = _key(namespace)
        async with _reached(), self._client.pipeline() as pipe:
            await pipe.watch(key)
            if _preferences(await pipe.get(key)).revision != expected:
                return False
            pipe.multi()  # type: ignore[no-untyped-call]
            pipe.set(key, f"[{expected + 1},{value}]")
            try:
                await pipe.execute()
            except WatchError:
                return False
            return True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _key(namespace: Namespace) -> bytes:
    """No text in a namespace can reach into another one's key."""
    return PREFIX.encode() + orjson.dumps(list(namespace))


def _preferences(stored: Any) -> Preferences:
    return NOTHING if stored is None else Preferences(*orjson.loads(stored))


@asynccontextmanager
async def _reached() -> AsyncIterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise Unavailable(
            f"the Redis that keeps preferences cannot be reached ({cause_of(error)});"
            " a write may have got through: read them again once it can"
        ) from error
