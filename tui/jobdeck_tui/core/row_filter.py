"""A filter that holds over rows, and the filters that were typed before it."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from .filter import FilterError, Language, Predicate

Item = TypeVar("Item")

HISTORY_MAX = 50


class FilterHistory:
    """Filters that were used, oldest first, each once."""

    def __init__(self, sources: Iterable[str] = ()) -> None:
        self.sources = list(sources)[-HISTORY_MAX:]

    def remember(self, source: str) -> None:
        """Keeps a filter that was used as the newest."""
        if source:
            earlier = [one for one in self.sources if one != source]
            self.sources = [*earlier, source][-HISTORY_MAX:]


class RowFilter(Generic[Item]):
    """What is shown of one kind of rows. A filter with a mistake in it changes nothing, and ``error`` says why."""

    def __init__(self, language: Language[Item]) -> None:
        self.language = language
        self.source = ""
        self.error = ""
        self._matches: Predicate[Item] | None = None

    def take(self, source: str) -> bool:
        """Takes a filter; False where it is not understood."""
        try:
            matches = self.language.compile(source)
        except FilterError as error:
            self.error = str(error)
            return False
        self.source, self.error = source.strip(), ""
        self._matches = matches if self.source else None
        return True

    def preview(self, source: str, items: Iterable[Item], now: float) -> str:
        """What a filter would show, before it is entered; empty where it is not understood."""
        try:
            matches = self.language.compile(source)
        except FilterError as error:
            self.error = str(error)
            return ""
        self.error = ""
        items = list(items)
        matching = sum(1 for item in items if matches(item, now))
        return f"{matching} of {len(items)} match, Enter shows them"

    def matches(self, item: Item, now: float) -> bool:
        """Whether a row is shown; ``now`` in Unix seconds."""
        return self._matches is None or self._matches(item, now)
