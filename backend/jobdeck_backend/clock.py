"""Wall time that cannot jump: anchored once to the monotonic clock (R11)."""

import time

_ANCHOR = time.time() - time.monotonic()


def now() -> float:
    """Unix seconds, UTC. A step of the system's clock after the process started does not move it."""
    return _ANCHOR + time.monotonic()
