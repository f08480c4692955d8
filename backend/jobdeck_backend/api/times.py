"""Times on the wire."""

from datetime import datetime

from jobdeck_backend.clock import iso, zulu
from jobdeck_backend.errors import InvalidInput


def offset_iso(at: float | None) -> str | None:
    """A time of the jobs API."""
    return None if at is None else iso(at)


def zulu_iso(at: float | None) -> str | None:
    """A time of the operations API."""
    return None if at is None else zulu(at)


def parse(text: str, field: str) -> float:
    """RFC 3339 with an offset → Unix seconds. Raises ``InvalidInput`` naming ``field``."""
    try:
        parsed = datetime.fromisoformat(text.upper())  # RFC 3339 has a small t and z, too
    except ValueError:
        raise InvalidInput(f"{field} must be an RFC 3339 time, such as 2030-01-31T12:00:00Z") from None
    if parsed.tzinfo is None:
        raise InvalidInput(f"{field} must have an offset, such as Z")
    return parsed.timestamp()
