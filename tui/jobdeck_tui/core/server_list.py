"""The job list where there are too many jobs to keep: its first rows, in the server's order, with its counts."""

from collections.abc import Sequence
from typing import NamedTuple

LISTED_MAX = 10_000
"""With more jobs than that the server filters and sorts, and the deck asks for the rows it shows."""
ROWS_AT_FIRST = 100
"""More than a terminal shows, and soon here: the operator waits for them."""
ROWS_THEN = 500
"""Right behind the first ones."""
MORE_ROWS = 500
MORE_WITHIN_ROWS = 100
"""So near the end of the rows that are here, more are asked for."""
ROWS_MAX = 5_000
AGAIN_SECONDS = 2.0
BUSY_SHARE = 10
"""What the last asking took, times this, is waited at least."""

SERVER_SORTS = {
    "risk": "risk",
    "id": "id",
    "state": "state",
    "queue": "queue",
    "left": "left",
    "slack": "slack",
    "agent": "agent",
    "try": "-try",
    "worker": "worker",
    "age": "-accepted",
}
"""The server's names for the columns it can sort by."""


def server_sort(column: str, *, reverse: bool) -> str:
    """Give the server's name of an order; by risk where it cannot sort by the column."""
    name = SERVER_SORTS.get(column, SERVER_SORTS["risk"])
    if not reverse:
        return name
    return name.removeprefix("-") if name.startswith("-") else f"-{name}"


class Query(NamedTuple):
    """What the server is asked for: a filter, one of its orders, and how many rows from the first."""

    filter: str
    sort: str
    rows: int


class ServerList:
    """The rows that are here, and whether others should be asked for. ``now`` is monotonic seconds."""

    def __init__(self, total: int) -> None:
        self.ids: Sequence[str] = ()
        self.total = total
        self.matching = 0
        self.more = False
        self.trouble = ""
        self.read = False
        self._changed = False
        self._rows = ROWS_AT_FIRST
        self._asked: Query | None = None
        self._answered_at = float("-inf")
        self._pause_seconds = AGAIN_SECONDS

    def changed(self) -> None:
        """Some job changed, or there is a new one: what is here may no longer be the first rows."""
        self._changed = True

    def ask(self, filter_source: str, sort: str, cursor: int, now: float) -> Query | None:
        """What to ask for now, with the cursor on that row; None while what is here is good enough."""
        asked = self._asked
        if asked is None or (asked.filter, asked.sort) != (filter_source, sort):
            self._rows = ROWS_AT_FIRST
        elif self.more and self._rows == ROWS_AT_FIRST:
            self._rows = ROWS_THEN
        elif self.more and self._near_the_end(cursor) and self._rows < ROWS_MAX:
            self._rows = min(len(self.ids) + MORE_ROWS, ROWS_MAX)
        query = Query(filter_source, sort, self._rows)
        again = self._changed or bool(self.trouble)
        if query == asked and not (again and now - self._answered_at > self._pause_seconds):
            return None
        self._asked, self._changed = query, False
        self._answered_at = float("inf")
        return query

    def _near_the_end(self, cursor: int) -> bool:
        """Of the rows that were asked for: while they are on their way there is no end to be near to."""
        return len(self.ids) >= self._rows and cursor >= len(self.ids) - MORE_WITHIN_ROWS

    def take(
        self, ids: Sequence[str], *, total: int, matching: int, more: bool, now: float, took: float
    ) -> None:
        """The answer: the rows in their order, and how long it took in seconds."""
        self.ids, self.total, self.matching, self.more = ids, total, matching, more
        self.trouble, self.read = "", True
        self._answered_at = now
        self._pause_seconds = max(AGAIN_SECONDS, BUSY_SHARE * took)

    def fail(self, trouble: str, now: float) -> None:
        """The answer did not come; what is here stays, and it is asked for again."""
        self.trouble = trouble
        self._answered_at = now

    def words(self, column: str) -> str:
        """Say what the list is, as in ``server: first 500 of 39,000``."""
        if self.trouble:
            return f"the server's list could not be read, trying again: {self.trouble}"
        if not self.read:
            return f"{self.total:,} jobs: asking the server …"
        rows = f"first {len(self.ids):,} of {self.matching:,}" if self.more else f"all {self.matching:,}"
        order = "" if column in SERVER_SORTS else f"; it has no order by {column}, this is by risk"
        return f"server: {rows}{order}"
