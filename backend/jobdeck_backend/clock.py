"""Wall time that cannot jump: anchored once to the monotonic clock (R11)."""

import time

_ANCHOR = time.time() - time.monotonic()


LATEST = 253_402_300_799.0
"""9999-12-31T23:59:59Z: a later time cannot be written in four digits of year, so none may be stored."""


def now() -> float:
    """Unix seconds, UTC. A step of the system's clock after the process started does not move it."""
    return _ANCHOR + time.monotonic()
