"""Telling a webhook: one POST to an address that was looked at before it is called."""

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any

import httpx

from jobdeck_backend.addresses import refuse_private
from jobdeck_backend.errors import JobdeckError
from jobdeck_backend.settings import Settings

TIMEOUT_S = 10.0


class NotDelivered(JobdeckError):  # noqa: N818
    """The call certainly did not happen, or was refused."""

    code = "not_delivered"


class NotAnswered(JobdeckError):  # noqa: N818
    """The call may or may not have happened."""

    code = "not_answered"


async def post(url: str, body: Mapping[str, Any], *, key: str, settings: Settings) -> int:
    """Post JSON with ``Idempotency-Key``; answers the 2xx status.

    Redirects are not followed. Raises ``NotDelivered``, ``NotAnswered``, and ``NotAllowed`` for a private address.
    """
    target = httpx.URL(url)
    addresses = await _resolve(target)
    if not settings.allow_private_addresses:
        refuse_private(target.host, addresses)
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            # No proxy of the environment's: it would look the name up again, and perhaps otherwise.
            httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client,
        ):
            status = await _post(client, target, addresses, json.dumps(body).encode(), key)
    except (TimeoutError, httpx.TransportError) as error:
        raise NotAnswered(f"{target.host} did not answer ({type(error).__name__})") from error
    if status >= 500:
        raise NotAnswered(f"{target.host} answered {status}")
    if not 200 <= status < 300:
        raise NotDelivered(f"{target.host} refused it with {status}")
    return status


async def _resolve(target: httpx.URL) -> list[str]:
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotDelivered(f"{target.host} cannot be found ({error})") from error
    return list(dict.fromkeys(str(address[4][0]) for address in found))


async def _post(
    client: httpx.AsyncClient, target: httpx.URL, addresses: list[str], content: bytes, key: str
) -> int:
    """The status. The name is not looked up again: it might lead elsewhere by now."""
    headers = {"Host": target.netloc.decode(), "Content-Type": "application/json", "Idempotency-Key": key}
    last: httpx.TransportError | None = None
    for address in addresses:
        request = client.build_request(
            "POST",
            target.copy_with(host=address),
            content=content,
            headers=headers,
            extensions={"sni_hostname": target.host},
        )
        try:
            response = await client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            last = error
            continue
        await response.aclose()  # what it says besides the status is of no use, and might have no end
        return response.status_code
    raise NotDelivered(f"{target.host} could not be reached ({last})") from last
