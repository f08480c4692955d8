"""Typed access to JSON from the wire. Every string read through here is sanitised, and bounded in size."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, TypeGuard, TypeVar

from jobdeck_tui.text.sanitise import block, one_line

Item = TypeVar("Item")

NAME_LIMIT = 200
ID_LIMIT = 256
"""Of a job's id, which is never cut: acts are addressed by it."""
NOTE_LIMIT = 2_000
STRING_LIMIT = 20_000
DEPTH_LIMIT = 12
NUMBER_LIMIT = 1 << 63
WIDTH_LIMIT = 1_000
"""Members kept of one object or array inside free-form JSON."""


class Unreadable(ValueError):  # noqa: N818
    """An item does not have the shape it must have; the message names the field."""


class Fields:
    """Typed access to one JSON object."""

    __slots__ = ("_data",)

    def __init__(self, data: object) -> None:
        if not isinstance(data, dict):
            raise Unreadable("not an object")
        self._data: dict[str, Any] = data

    def text(self, name: str, limit: int = NAME_LIMIT) -> str:
        """Read a required string as one safe line."""
        value = self._data.get(name)
        if not isinstance(value, str):
            raise Unreadable(f"{name} is not a string")
        return one_line(value, limit)

    def job_id(self, name: str = "job_id") -> str:
        """Read a job's id. The server takes none that is not safe as it is."""
        return self.text(name, ID_LIMIT)

    def name(self, name: str) -> str:
        """Read a required string that many rows share: kept once, however many rows there are."""
        return sys.intern(self.text(name))

    def maybe_name(self, name: str) -> str | None:
        """Read an optional string that many rows share."""
        return None if self._data.get(name) is None else self.name(name)

    def maybe_text(self, name: str, limit: int = NAME_LIMIT) -> str | None:
        """Read an optional string as one safe line."""
        return None if self._data.get(name) is None else self.text(name, limit)

    def body(self, name: str, limit: int) -> str | None:
        """Read an optional string of several lines."""
        value = self._data.get(name)
        return block(value, limit) if isinstance(value, str) else None

    def time(self, name: str) -> float:
        """Read a required ISO 8601 moment as Unix seconds."""
        value = self._data.get(name)
        if not isinstance(value, str):
            raise Unreadable(f"{name} is not a time")
        return moment(value)

    def maybe_time(self, name: str) -> float | None:
        """Read an optional ISO 8601 moment as Unix seconds."""
        return None if self._data.get(name) is None else self.time(name)

    def number(self, name: str) -> float:
        """Read a required finite number."""
        value = self._data.get(name)
        if not _is_number(value):
            raise Unreadable(f"{name} is not a number")
        return float(value)

    def maybe_number(self, name: str) -> float | None:
        """Read an optional finite number."""
        return None if self._data.get(name) is None else self.number(name)

    def integer(self, name: str) -> int:
        """Read a required whole number."""
        value = self._data.get(name)
        if not _is_number(value):
            raise Unreadable(f"{name} is not a number")
        return int(value)

    def maybe_integer(self, name: str) -> int | None:
        """Read an optional whole number."""
        return None if self._data.get(name) is None else self.integer(name)

    def flag(self, name: str) -> bool:
        """Read a boolean; anything else is false."""
        return self._data.get(name) is True

    def texts(self, name: str, limit: int = NAME_LIMIT) -> tuple[str, ...]:
        """Read a list of strings; what is not a string in it is left out."""
        value = self._data.get(name)
        if not isinstance(value, list) or not value:
            return ()
        return tuple(one_line(item, limit) for item in value if isinstance(item, str))

    def counts(self, name: str) -> dict[str, int]:
        """Read an object of whole numbers."""
        value = self._data.get(name)
        if not isinstance(value, dict):
            return {}
        return {one_line(key, NAME_LIMIT): int(count) for key, count in value.items() if _is_number(count)}

    def listed(self, name: str) -> list[object]:
        """Give a required list as it came, for another reader to decode."""
        value = self._data.get(name)
        if not isinstance(value, list):
            raise Unreadable(f"{name} is not a list")
        return value

    def raw(self, name: str) -> object:
        """Give a member as it came, for another reader to decode."""
        return self._data.get(name)

    def free(self, name: str) -> Mapping[str, object]:
        """Read free-form JSON, sanitised and bounded in depth and width."""
        value = safe_json(self._data.get(name))
        return value if isinstance(value, dict) else {}

    def items(self, name: str, read: Callable[[object], Item]) -> tuple[Item, ...]:
        """Read a list of items; broken ones are left out."""
        return many(self._data.get(name), read)[0]


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is one that can be meant: neither infinite, nor none, nor as large as ``NUMBER_LIMIT``."""
    return (
        isinstance(value, (int, float))
        and -NUMBER_LIMIT < value < NUMBER_LIMIT
        and value is not True
        and value is not False
    )


def parse(text: str | bytes) -> object:
    """Parse JSON. The standard parser, because it takes lone surrogates, which are then made safe as text.

    Raises:
        Unreadable: it is not JSON, or nested beyond any sense.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON") from error


def moment(text: str) -> float:
    """Read an ISO 8601 moment with its offset as Unix seconds (UTC)."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise Unreadable("a time without an offset")
        return at.timestamp()
    except (ValueError, OverflowError) as error:
        raise Unreadable("not a time") from error


def many(data: object, read: Callable[[object], Item]) -> tuple[tuple[Item, ...], int]:
    """Read a list; give the items that could be read and how many could not."""
    if not isinstance(data, list):
        return (), 0 if data is None else 1
    items: list[Item] = []
    for entry in data:
        try:
            items.append(read(entry))
        except Unreadable:
            continue
    return tuple(items), len(data) - len(items)


def safe_json(value: object, depth: int = 0) -> object:
    """Sanitise every string in free-form JSON; what is too deep or too wide is cut and says so."""
    if isinstance(value, str):
        return block(value, STRING_LIMIT)
    if isinstance(value, dict):
        if depth >= DEPTH_LIMIT:
            return "{⋯}"
        kept = _first(value.items())
        return {one_line(str(key), NAME_LIMIT): safe_json(entry, depth + 1) for key, entry in kept}
    if isinstance(value, list):
        return "[⋯]" if depth >= DEPTH_LIMIT else [safe_json(entry, depth + 1) for entry in _first(value)]
    return (
        value if value is None or isinstance(value, (bool, int, float)) else block(str(value), STRING_LIMIT)
    )


def plain(value: object) -> object:
    """What was read of a server as JSON knows it: a dict for each of its values, with those within."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if not isinstance(value, tuple):
        return value
    if hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    return [plain(one) for one in value]


def json_line(value: object) -> str:
    """Free-form JSON as one safe line; a string stands for itself."""
    text = value if isinstance(value, str) else json.dumps(safe_json(value), ensure_ascii=False)
    return one_line(text, NOTE_LIMIT)


def _first(entries: Iterable[Item]) -> list[Item]:
    return [entry for entry, _ in zip(entries, range(WIDTH_LIMIT), strict=False)]
