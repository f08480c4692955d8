"""Who was verified for the request that is being answered: set once before any route, read where it matters."""

import math
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import anyio

from jobdeck_backend.clock import now
from jobdeck_backend.identity.principal import Principal

_principal: ContextVar[Principal | None] = ContextVar("principal", default=None)


@contextmanager
def known_as(asking: Principal) -> Iterator[None]:
    """Within it, requests are this caller's."""
    before = _principal.set(asking)
    try:
        yield
    finally:
        _principal.reset(before)


def principal() -> Principal | None:
    """The caller; None where nobody is asked who they are."""
    return _principal.get()


def owner() -> str | None:
    """Whose a job is that this request submits."""
    asking = principal()
    return None if asking is None else asking.owner


def operator() -> str:
    """Who does an operator's act, as the audit names them."""
    return owner() or "operator"


def known_for_s() -> float:
    """Seconds for which the caller's token is still valid; endless where nobody is asked who they are."""
    asking = principal()
    return math.inf if asking is None else asking.expires_at - now()


async def until_expiry(frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream's frames for as long as its caller's token is valid: who comes again is asked again."""
    # Frames that are always there are never waited for: the time is looked at, too.
    while (left_s := known_for_s()) > 0:
        chunk = None
        with anyio.move_on_after(left_s):
            chunk = await anext(frames, None)
        if chunk is None:
            return
        yield chunk
