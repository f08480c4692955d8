"""What time it is on the server: deadlines and ages are its own, as in the deck."""

import time
from contextlib import suppress

from jobdeck_tui.client.api import Api
from jobdeck_tui.client.errors import NotUnderstood
from jobdeck_tui.core.server_clock import ServerClock


def server_clock() -> ServerClock:
    """Give a clock that no snapshot has told anything yet."""
    return ServerClock(time.time, time.monotonic)


async def server_now(api: Api) -> float:
    """Ask what time it is there, in Unix seconds; of a server that cannot be understood, it is as late as here."""
    clock = server_clock()
    with suppress(NotUnderstood):
        clock.told((await api.overview()).at)
    return clock.now()
