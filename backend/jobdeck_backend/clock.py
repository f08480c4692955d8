"""Wall time that cannot jump: anchored once to the monotonic clock, which is one for the whole machine (R11)."""

import time
from datetime import UTC, datetime
from pathlib import Path

_anchor = time.time() - time.monotonic()


LATEST = 253_402_300_799.0
"""9999-12-31T23:59:59Z: a later time cannot be written in four digits of year, so none may be stored."""


def now() -> float:
    """Unix seconds, UTC. A step of the system's clock after the process started does not move it."""
    return _anchor + time.monotonic()


def machine() -> str:
    """Whose monotonic clock this process reads: one boot of one kernel, in one time namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path('/proc/self/ns/time').readlink()}"


def anchor() -> float:
    """What ties this process's ``now`` to the machine's monotonic clock; for processes that must agree with it."""
    return _anchor


def adopt(anchor: float) -> None:
    """Tell the time as the process on this machine does whose ``anchor`` it is."""
    global _anchor
    _anchor = anchor


def iso(at: float) -> str:
    """Unix seconds as ISO 8601 with ``+00:00``, as the jobs API writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def instant(at: float) -> str:
    """Unix seconds as a sentence says them, ``2026-11-29 12:04:31Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def zulu(at: float) -> str:
    """Unix seconds as ISO 8601 with ``Z``, as the operations API writes it."""
    return iso(at).replace("+00:00", "Z")
