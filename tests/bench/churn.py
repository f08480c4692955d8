"""Eight hours of jobs that come, move and leave, two a second, compressed: whether the deck that watches grows.

The jobs are written to the records as commands do; finished ones are pruned by the server, which tells the deck.
Meanwhile somebody opens jobs and goes from screen to screen.
"""

from collections.abc import Iterator
from itertools import cycle

from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.store.engine import Database

from tests.bench.deck import Terminal, opened
from tests.bench.figures import Figure, rounds
from tests.bench.server import Server, wait_until

JOBS = rounds(8 * 3600 * 2, 6_000)
BATCH = 200
QUEUE = "churn"
PARTS = 10
KEYS = [b"\r", b"\x1b", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"1", b"jjj", b"s", b"?", b"\x1b"]
GROWN_MB_MAX = 3
"""Between the first half's greatest and the second half's: what jobs leave behind would be tens of megabytes."""


def one_batch(database: Database, number: int) -> None:
    """Jobs come, each gets more time, and is cancelled: three rows of each for the deck."""
    ids = [f"churn-{number}-{one}" for one in range(BATCH)]
    with database.write() as tx:
        for job_id in ids:
            submit(tx, NewJob("probe", "{}", QUEUE, job_id, deadline_seconds=3600), now())
    by = operators.By("bench", now())
    grant = operators.grant_until(lambda admission, at: (admission.deadline or at) + 60)
    for act, perform in (("grant", grant), ("cancel", operators.cancel)):
        with database.write() as tx:
            for job_id in ids:
                operators.act(tx, act, job_id, perform, by)


def prune(server: Server) -> None:
    """Every job that has ended goes, and is gone when this returns."""
    server.http.post("/v1/ops/prune", json={"older_than_seconds": 0}).raise_for_status()
    wait_until(lambda: server.http.get("/v1/ops/prune").json()["state"] == "done", 30)


def churned(server: Server, terminal: Terminal) -> Iterator[float]:
    """The deck's memory in MB, at every tenth of the way."""
    database, keys = Database(server.state_dir / "jobdeck.db", synchronous="NORMAL"), cycle(KEYS)
    batches = JOBS // BATCH
    for number in range(batches):
        one_batch(database, number)
        terminal.type(next(keys))
        prune(server)
        if (number + 1) * PARTS // batches > number * PARTS // batches:
            yield terminal.process.memory_info().rss / 1e6
    database.close()


def measure(server: Server) -> list[Figure]:
    """One run: it takes as long as it takes."""
    server.pause(QUEUE)
    with opened(server) as terminal:
        memory = list(churned(server, terminal))
    grown = max(memory[PARTS // 2 :]) - max(memory[: PARTS // 2])
    name = f"deck: {JOBS:,} jobs came, moved and left"
    return [
        Figure(f"{name}, resident at each tenth", "MB", memory),
        Figure(f"{name}, growth in the second half", "MB", [grown], GROWN_MB_MAX),
    ]
