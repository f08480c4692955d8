"""A list that a screen reads again and again: what was read last, or why it could not be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(slots=True)
class Reading(Generic[Item]):
    """``items`` is None until it was read once; ``trouble`` says why the newest reading failed."""

    items: Sequence[Item] | None = None
    trouble: str = ""

    def take(self, items: Sequence[Item]) -> None:
        """It was read."""
        self.items, self.trouble = items, ""

    def fail(self, trouble: str) -> None:
        """It could not be read; what was read before is still the newest there is."""
        self.trouble = trouble
