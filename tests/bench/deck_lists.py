"""A hundred thousand jobs in the deck: from the key that sorts or filters until the new rows are painted.

The deck does not keep so many: the server sorts and filters them, and tells the first rows.
"""

from collections.abc import Iterator
from itertools import pairwise
from uuid import NAMESPACE_OID, uuid5

from jobdeck_tui.core.server_list import SERVER_SORTS

from tests.bench.deck import Terminal, opened
from tests.bench.figures import Figure, rounds
from tests.bench.lists import FILTERS, JOBS
from tests.bench.server import Server, wait_until
from tests.many_jobs import fill

TARGET_MS = 150
ROWS_LOOKED_AT = 8
"""So many are in view in any case."""
ID_CELLS = 8


def first_ids(server: Server, **query: str) -> list[str]:
    """How the first rows of a list begin."""
    answer = server.http.get("/v1/ops/jobs", params={"limit": ROWS_LOOKED_AT, **query})
    answer.raise_for_status()
    return [row["job_id"][:ID_CELLS] for row in answer.json()["jobs"]]


def new_ids(server: Server, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Of the rows that one list has on top, those that another one had not: they are drawn."""
    old = first_ids(server, **before)
    return [one for one in first_ids(server, **after) if one not in old]


def sorted_ms(server: Server, terminal: Terminal) -> Iterator[float]:
    """Each column in turn, from the order by risk and back to it; one that moves no row is passed over."""
    columns = list(SERVER_SORTS)
    for before, after in pairwise(columns):
        words = new_ids(server, {"sort": SERVER_SORTS[before]}, {"sort": SERVER_SORTS[after]})
        took = terminal.painted_s(b"s", f"by {after}", *words)
        if words:
            yield 1_000 * took
    terminal.type(b"S" * 2 + b"s" * 2)  # over the one order that only the deck knows, to the first


def filtered_ms(server: Server, terminal: Terminal, text: str) -> float:
    """From Enter until the rows that match are painted; then the filter is taken away."""
    words = new_ids(server, {"sort": "risk"}, {"sort": "risk", "filter": text})
    terminal.type(b"/")
    terminal.type(text.encode())
    took = terminal.painted_s(b"\r", "filter: ", *words)
    terminal.painted_s(b"\x1b", *new_ids(server, {"sort": "risk", "filter": text}, {"sort": "risk"}))
    return 1_000 * took


def measure(server: Server) -> list[Figure]:
    """Every order, then every filter."""
    fill(server.state_dir, JOBS, lambda number: str(uuid5(NAMESPACE_OID, str(number))))
    with opened(server) as terminal:
        wait_until(lambda: terminal.shows("server: first"), 60)
        sorts = [took for _ in range(rounds(5, 2)) for took in sorted_ms(server, terminal)]
        filters = [filtered_ms(server, terminal, text) for _ in range(rounds(5, 2)) for text in FILTERS]
    name = f"deck: {JOBS:,} jobs"
    return [
        Figure(f"{name}, sort key → new rows painted", "ms", sorts, TARGET_MS),
        Figure(f"{name}, filter entered → matching rows painted", "ms", filters, TARGET_MS),
    ]
