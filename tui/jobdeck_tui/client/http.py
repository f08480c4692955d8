"""One HTTP connection pool to one server, and how its answers become typed errors."""

from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx

from jobdeck_tui.text.sanitise import one_line

from . import decode
from .credentials import token_for
from .errors import Denied, NotReachable, NotUnderstood, Offer, Refused, TimedOut
from .fields import NOTE_LIMIT, Fields, Unreadable, parse
from .models import Job

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 10.0
DOWNLOAD_SECONDS = 600.0
"""A copy of a large database is made before its first byte comes."""
BODY_BYTES_MAX = 64 << 20
UNAVAILABLE = frozenset({503, 507})
"""What a jobdeck server answers when it changed nothing; any other failure of its own leaves that open."""

# Raised before a request can have reached the server: nothing was changed.
_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)

Params = Mapping[str, str | int | bool]


class Bearer(httpx.Auth):
    """Names the caller to the server at ``url``, by nothing that others could read on the way.

    Raises:
        Denied: there is a token that cannot be read or sent; the request was not sent.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._private = needs_certificates(url) or is_loopback(url)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the token, where there is one."""
        if token := token_for(self._url):
            if not self._private:
                raise Denied(
                    f"A token goes over https only, which {self._url} is not: nothing was sent.", 401
                )
            request.headers["Authorization"] = f"Bearer {token}"
        yield request


class Http:
    """Requests to one server. ``url`` has no path; close it when done. ``read_only`` ones send no change."""

    def __init__(
        self, url: str, *, read_only: bool = False, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._read_only = read_only
        self._client = httpx.AsyncClient(
            base_url=self.url,
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            # A proxy of the environment must not come between a deck and its own machine.
            trust_env=not is_loopback(url),
            verify=needs_certificates(url),
            auth=Bearer(self.url),
            transport=transport,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def get(self, path: str, params: Params | None = None) -> object:
        """Read one resource as parsed JSON.

        Raises:
            NotReachable, Denied, Refused, NotUnderstood: as they say.
        """
        try:
            return await self._exchange("GET", path, params=dict(params or {}))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._not_reachable(error) from error

    async def post(self, path: str, body: Mapping[str, object]) -> object:
        """Send a change; give the answer as parsed JSON.

        Raises:
            NotReachable: it was never sent. TimedOut: it was, and no answer came, or that of a server that broke.
            Denied, Refused, NotUnderstood: as they say.
        """
        if self._read_only:
            raise Refused("This deck is read-only.", status=403, code="read_only")
        try:
            return await self._exchange("POST", path, json=dict(body))
        except (*_BEFORE_SENDING, httpx.InvalidURL) as error:
            raise self._not_reachable(error) from error
        except httpx.HTTPError as error:
            what = f"No answer from {self.url} ({_why(error)})"
            raise TimedOut(f"{what}: it may or may not have been done; look before asking again.") from error

    async def _exchange(self, method: str, path: str, **content: Any) -> object:
        async with self._client.stream(method, path, **content) as response:
            body = await read_bounded(response)
        if method == "POST" and response.status_code >= 500 and response.status_code not in UNAVAILABLE:
            said = f"The server answered {response.status_code}"
            raise TimedOut(f"{said}: it may or may not have been done; look before asking again.")
        _raise_for(response.status_code, body)
        try:
            return parse(body)
        except Unreadable as error:
            raise NotUnderstood(f"{self.url} does not answer as a jobdeck server does.") from error

    async def download(
        self, method: str, path: str, params: Params, take: Callable[[bytes], object]
    ) -> Mapping[str, str]:
        """Hand the body of an answer to ``take`` as it comes; give its headers.

        Raises:
            NotReachable, Denied, Refused: as they say.
        """
        timeout = httpx.Timeout(DOWNLOAD_SECONDS, connect=CONNECT_SECONDS)
        try:
            async with self._client.stream(method, path, params=dict(params), timeout=timeout) as response:
                if response.status_code >= 400:
                    _raise_for(response.status_code, await read_bounded(response))
                async for chunk in response.aiter_bytes():
                    take(chunk)
                return dict(response.headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._not_reachable(error) from error

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Params | None = None, headers: Mapping[str, str], read_seconds: float
    ) -> AsyncIterator[httpx.Response]:
        """Open a response whose body is read as it comes; ``read_seconds`` bounds each silence.

        Raises:
            NotReachable, Denied, Refused: as they say.
        """
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, read=read_seconds)
        try:
            async with self._client.stream(
                "GET", path, params=dict(params or {}), headers=dict(headers), timeout=timeout
            ) as response:
                if response.status_code >= 400:
                    _raise_for(response.status_code, await read_bounded(response))
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._not_reachable(error) from error

    def _not_reachable(self, error: Exception) -> NotReachable:
        return NotReachable(f"No answer from {self.url} ({_why(error)}).")


def needs_certificates(url: str) -> bool:
    """Whether the system's certificates are needed; loading them for nothing costs 2 MB and 20 ms."""
    return urlsplit(url).scheme == "https"


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _why(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "timed out"
    text = one_line(str(error), 200)
    return {"All connection attempts failed": "connection refused"}.get(text, text) or type(error).__name__


async def read_bounded(response: httpx.Response, limit: int = BODY_BYTES_MAX) -> bytes:
    """Read a body whole.

    Raises:
        NotUnderstood: it is larger than ``limit`` bytes.
    """
    chunks: list[bytes] = []
    held = 0
    async for chunk in response.aiter_bytes():
        held += len(chunk)
        if held > limit:
            raise NotUnderstood(f"An answer larger than {limit} bytes was refused.")
        chunks.append(chunk)
    return b"".join(chunks)


def _raise_for(status: int, body: bytes) -> None:
    if status < 300:
        return
    code, message, detail = _detail(body)
    message = message or f"The server answered {status}."
    if status in (401, 403):
        raise Denied(message, status, code)
    raise Refused(message, status=status, code=code, current=_current(detail), offer=_offer(detail))


def _detail(content: bytes) -> tuple[str, str, Mapping[str, object]]:
    """Read ``{"detail": …}`` in any of the shapes the two APIs use: code, message, and all that is in it."""
    try:
        body = parse(content)
    except Unreadable:
        return "", "", {}
    detail = body.get("detail") if isinstance(body, dict) else None
    if isinstance(detail, str):
        return "", one_line(detail, NOTE_LIMIT), {}
    if isinstance(detail, list):
        return "invalid_input", _validation(detail), {}
    if not isinstance(detail, dict):
        return "", "", {}
    code, message = detail.get("code", ""), detail.get("message", "")
    return one_line(str(code), 100), one_line(str(message), NOTE_LIMIT), detail


def _current(detail: Mapping[str, object]) -> Job | None:
    try:
        return decode.job(detail.get("current"))
    except Unreadable:
        return None


def _offer(detail: Mapping[str, object]) -> Offer | None:
    try:
        offered = Fields(detail.get("offer")).time("deadline")
        return Offer(offered, offered - Fields(detail).time("deadline"))
    except Unreadable:
        return None


def _validation(errors: list[object]) -> str:
    """Say what FastAPI's validation found, as in ``input: String should have at least 1 character``."""
    said: list[str] = []
    for error in errors[:5]:
        if isinstance(error, dict):
            where = error.get("loc")
            field = str(where[-1]) if isinstance(where, list) and where else "request"
            said.append(f"{field}: {error.get('msg', 'not valid')}")
    return one_line("; ".join(said), NOTE_LIMIT)
