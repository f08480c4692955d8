"""Who may speak to a server that asks nobody's name: programs, and pages that this machine serves itself.

A browser sends requests for any page it shows. One of another origin could not read the answers, yet it could
cancel jobs and pause queues; one whose name was rebound to this address could read and submit, too. Both are
recognised by headers that a page cannot forge: ``Origin`` says whose page asks, ``Host`` by which name.
"""

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from jobdeck_backend.api.failures import refusal
from jobdeck_backend.errors import NotAllowed
from jobdeck_backend.settings import Settings

ORIGIN_BYTES_MAX = 1_000
"""No name is as long; and what was looked at is remembered."""


class Gate:
    """Refuses requests by a foreign name, where only this machine is served, and those of foreign pages."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._local = is_local(settings.host)
        self._trusted = frozenset(
            filter(None, (name.strip().lower() for name in settings.trusted_hosts.split(",")))
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        why_not = self._why_not(scope) if scope["type"] == "http" else None
        if why_not is None:
            await self.app(scope, receive, send)
        else:
            await refusal(scope["path"], NotAllowed(why_not))(scope, receive, send)

    def _why_not(self, scope: Scope) -> str | None:
        hosts = [_name(b"//" + value) for name, value in scope["headers"] if name == b"host"]
        if self._local and not all(map(self._is_known, hosts)):
            return "this server is not reached by that name; JOBDECK_TRUSTED_HOSTS may list it"
        for name, value in scope["headers"]:
            if name == b"origin":
                page = _name(value)
                if page not in hosts and not self._is_known(page):
                    return (
                        "a page of another origin may not use this server; JOBDECK_TRUSTED_HOSTS may list it"
                    )
        return None

    def _is_known(self, name: str) -> bool:
        return is_local(name) or name in self._trusted


@lru_cache(maxsize=256)
def is_local(name: str) -> bool:
    """Whether a name means this machine wherever it is looked up."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _name(origin: bytes) -> str:
    """The host of an origin, in small letters; empty for ``null`` and for what is none."""
    return _parsed(origin) if len(origin) <= ORIGIN_BYTES_MAX else ""


@lru_cache(maxsize=256)
def _parsed(value: bytes) -> str:
    try:
        return urlsplit(value.decode("latin-1")).hostname or ""
    except ValueError:
        return ""
