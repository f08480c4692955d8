"""How the operator had arranged the deck: what is kept from one session to the next."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .columns import COLUMNS
from .row_filter import HISTORY_MAX
from .sort import COLUMN_KEYS

TEXT_MAX = 500
FLAGS = ("reverse", "ages", "silent")


class DamagedError(ValueError):
    """What was kept cannot be read."""


@dataclass(frozen=True, slots=True)
class ViewState:
    """Order, columns and filter of the list, the filters that were used by place, and the deck's manners.

    ``theme`` is empty where none was chosen; ``ages``: logs tell how long ago, not when; ``silent``: no bell.
    """

    sort: str = "risk"
    reverse: bool = False
    columns: tuple[str, ...] = ()
    filter: str = ""
    theme: str = ""
    ages: bool = False
    silent: bool = False
    histories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def view_state(record: object) -> ViewState:
    """Read what ``record`` gave.

    Raises:
        DamagedError: it is not that.
    """
    if not isinstance(record, dict):
        raise DamagedError("no object")
    histories = record.get("histories", {})
    columns, known = record.get("columns", []), {column.key for column in COLUMNS}
    if not isinstance(histories, dict) or not isinstance(columns, list):
        raise DamagedError("lists are missing")
    sort, flags = record.get("sort", "risk"), [record.get(name, False) for name in FLAGS]
    if sort not in COLUMN_KEYS or not all(isinstance(flag, bool) for flag in flags):
        raise DamagedError("no order, or a yes or no is missing")
    return ViewState(
        sort=sort,
        **dict(zip(FLAGS, flags, strict=True)),
        columns=tuple(column for column in map(_text, columns) if column in known),
        filter=_text(record.get("filter", "")),
        theme=_text(record.get("theme", "")),
        histories={_text(place): _texts(sources) for place, sources in histories.items()},
    )


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise DamagedError("a list is missing")
    return tuple(map(_text, values[-HISTORY_MAX:]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise DamagedError("a text is missing")
    return value[:TEXT_MAX]
