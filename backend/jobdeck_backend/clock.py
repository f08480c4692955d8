"""Wall time that cannot jump: anchored once to the monotonic clock (R11)."""

import time
from datetime import UTC, datetime

_ANCHOR = time.time() - time.monotonic()


def now() -> float:
    """Unix seconds, UTC. A step of the system's clock after the process started does not move it."""
    return _ANCHOR + time.monotonic()


def iso(at: float) -> str:
    """Unix seconds as ISO 8601 with ``+00:00``, as the jobs API writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def zulu(at: float) -> str:
    """Unix seconds as ISO 8601 with ``Z``, as the operations API writes it."""
    return iso(at).replace("+00:00", "Z")
