"""A hundred thousand jobs on record: the page that the deck asks for, filtered and sorted by the server."""

import time
from uuid import NAMESPACE_OID, uuid5

from tests.bench.figures import Figure, rounds
from tests.bench.server import Server
from tests.many_jobs import fill

JOBS = 100_000
PAGE_ROWS = 500
TARGET_MS = 150
SORTS = ("risk", "-left", "queue", "-accepted", "state", "slack")
FILTERS = (
    "state:failed",
    "state:unfinished",
    "queue:queue-3 try>0",
    "left<2h",
    "id:05",
    '"section 3"',
)
OF_BOTH = ("-state", "slack")
"""Orders that the records tell of finished jobs alone."""
SLOWER = ("state:queued", "slack<0")
"""What Dask's picture and the forecast must be asked for: told, without a target."""


def page_ms(server: Server, **query: str) -> float:
    """One page, until its last byte."""
    began = time.perf_counter()
    answer = server.http.get("/v1/ops/jobs", params={"limit": PAGE_ROWS, **query})
    answer.raise_for_status()
    return 1_000 * (time.perf_counter() - began)


def measure(server: Server) -> list[Figure]:
    """Every order without a filter, every filter in the deck's own order, and a filter in those of both kinds."""
    fill(server.state_dir, JOBS, lambda number: str(uuid5(NAMESPACE_OID, str(number))))
    page_ms(server)
    name = f"list: {JOBS:,} jobs, a page of {PAGE_ROWS}"
    count = rounds(9, 3)
    figures = [
        Figure(f"{name}, by {sort}", "ms", [page_ms(server, sort=sort) for _ in range(count)], TARGET_MS)
        for sort in SORTS
    ]
    for text in (*FILTERS, *SLOWER):
        runs = [page_ms(server, filter=text, sort="risk") for _ in range(count)]
        figures.append(Figure(f"{name}, {text}", "ms", runs, None if text in SLOWER else TARGET_MS))
    for sort in OF_BOTH:
        runs = [page_ms(server, filter="state:unfinished", sort=sort) for _ in range(count)]
        figures.append(Figure(f"{name}, state:unfinished by {sort}", "ms", runs, TARGET_MS))
    return figures
