"""Times on the wire."""

from datetime import UTC, datetime

from jobdeck_backend.errors import InvalidInput


def offset_iso(at: float | None) -> str | None:
    """ISO 8601 with ``+00:00``, as the jobs API writes it."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def zulu_iso(at: float | None) -> str | None:
    """ISO 8601 with ``Z``, as the operations API writes it."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def parse(text: str, field: str) -> float:
    """RFC 3339 with an offset → Unix seconds. Raises ``InvalidInput`` naming ``field``."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{field} must be an RFC 3339 time, such as 2030-01-31T12:00:00Z") from None
    if parsed.tzinfo is None:
        raise InvalidInput(f"{field} must have an offset, such as Z")
    return parsed.timestamp()
