"""Telling a webhook: one POST to an address that a job's input named."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

from jobdeck_backend.addresses import open_client
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
    """Post JSON with ``Idempotency-Key``; answers the 2xx status. Redirects are not followed.

    Raises ``NotDelivered``, ``NotAnswered``, and ``AddressRefused`` for a private address.
    """
    host = httpx.URL(url).host
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            open_client(allow_private=settings.allow_private_addresses, timeout_s=TIMEOUT_S) as client,
            # What it says besides the status is of no use, and might have no end.
            client.stream("POST", url, json=body, headers={"Idempotency-Key": key}) as response,
        ):
            status = response.status_code
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NotDelivered(f"{host} could not be reached ({error})") from error
    except (TimeoutError, httpx.TransportError) as error:
        raise NotAnswered(f"{host} did not answer ({type(error).__name__})") from error
    if status >= 500:
        raise NotAnswered(f"{host} answered {status}")
    if not 200 <= status < 300:
        raise NotDelivered(f"{host} refused it with {status}")
    return status
