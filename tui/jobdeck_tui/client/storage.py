"""Storage as the backend tells it: what is kept, what a pruning removes. Sanitised here, as in ``models``."""

from collections.abc import Mapping
from typing import NamedTuple

from .fields import NOTE_LIMIT, Fields


class StorageState(NamedTuple):
    """Whether the database takes jobs: ``ok`` or a code, and why it does not."""

    state: str
    reason: str | None

    @property
    def trouble(self) -> bool:
        """Whether it does not."""
        return self.state != "ok"


class Pruning(NamedTuple):
    """One pruning as far as it has come; ``jobs`` and ``events`` are those to go."""

    state: str
    jobs: int
    events: int
    removed: Mapping[str, int]
    freed_bytes: int
    error: str | None


class Storage(NamedTuple):
    """What is kept, by kind: rows and bytes; the space it takes, in bytes; what a pruning would remove."""

    state: StorageState
    kinds: Mapping[str, tuple[int, int]]
    space: Mapping[str, int]
    unfinished: int
    retention_seconds: float | None
    prunable: Pruning


def state(data: object) -> StorageState:
    """Read whether the database takes jobs."""
    row = Fields(data)
    return StorageState(row.text("state"), row.maybe_text("reason", NOTE_LIMIT))


def pruning(data: object) -> Pruning:
    """Read how far a pruning is."""
    row = Fields(data)
    return Pruning(
        state=row.text("state"),
        jobs=row.integer("jobs"),
        events=row.integer("events"),
        removed=row.counts("removed"),
        freed_bytes=row.integer("freed_bytes"),
        error=row.maybe_text("error", NOTE_LIMIT),
    )


def storage(data: object) -> Storage:
    """Read what is kept."""
    row = Fields(data)
    kinds = Fields(row.raw("kinds"))
    names = ("jobs", "events", "checkpoints", "checkpoint_writes", "artifacts")
    counts = {name: kinds.counts(name) for name in names}
    return Storage(
        state=state(row.raw("state")),
        kinds={name: (one.get("rows", 0), one.get("bytes", 0)) for name, one in counts.items()},
        space=row.counts("space"),
        unfinished=row.integer("unfinished"),
        retention_seconds=row.maybe_number("retention_seconds"),
        prunable=pruning(row.raw("prunable")),
    )
