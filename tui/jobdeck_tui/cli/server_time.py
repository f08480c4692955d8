"""What time it is on the server: deadlines and ages are its own, as in the deck."""

import time

from jobdeck_tui.client.api import Api
from jobdeck_tui.core.server_clock import ServerClock


def server_clock() -> ServerClock:
    """Give a clock that no snapshot has told anything yet."""
    return ServerClock(time.time, time.monotonic)


async def server_now(api: Api) -> float:
    """Ask what time it is there, in Unix seconds."""
    clock = server_clock()
    clock.told((await api.overview()).at)
    return clock.now()
