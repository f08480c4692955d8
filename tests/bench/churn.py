"""Hours of a working day, compressed: jobs come, run, are watched by a deck and by streams, and are pruned.

What the backend and the deck hold is looked at after each round; once they are warm it must not grow.
"""

from contextlib import ExitStack

from tests.bench.deck import Terminal, opened
from tests.bench.figures import Figure, rounds
from tests.bench.server import Server, wait_until

JOBS_A_ROUND = 50
STREAMS_A_ROUND = 20
WARM_ROUNDS = 8
WORK = {"stages": [{"name": "one", "events": 20}, {"name": "two", "events": 20}], "output": "x" * 2_000}
KEYS = b"2345678" + b"1"


def one_round(server: Server, terminal: Terminal) -> tuple[float, float]:
    """Jobs from their submission to their pruning; what the backend and the deck hold then, in MB."""
    jobs = [server.submit(WORK) for _ in range(JOBS_A_ROUND)]
    with ExitStack() as watching:
        for job_id in jobs[:STREAMS_A_ROUND]:
            path = f"/v1/jobs/async/job/{job_id}/stream"
            next(watching.enter_context(server.http.stream("GET", path)).iter_lines())
    server.wait_until_drained()
    for key in KEYS:
        terminal.answer_s(bytes((key,)))
    wait_until(lambda: pruned(server), 60, look_s=0.5)
    return server.process.memory_info().rss / 1e6, terminal.process.memory_info().rss / 1e6


def pruned(server: Server) -> bool:
    """Whether no job is left; a pruning is begun where none is under way, for what ended just now."""
    server.http.post("/v1/ops/prune", json={"older_than_seconds": 0})
    return server.row("SELECT count(*) FROM jobs") == (0,)


def measure(server: Server) -> list[Figure]:
    """How much both hold more after many rounds than when they were warm."""
    server.wait_for_dask()
    with opened(server) as terminal:
        warm = [one_round(server, terminal) for _ in range(WARM_ROUNDS)][-3:]
        late = [one_round(server, terminal) for _ in range(rounds(60, 20))][-3:]
    grown = [min(held[which] for held in late) - min(held[which] for held in warm) for which in (0, 1)]
    jobs = JOBS_A_ROUND * rounds(60, 20)
    return [
        Figure(f"churn: backend, grown over {jobs} jobs that came and went", "MB", [grown[0]], 10),
        Figure(f"churn: deck, grown over {jobs} jobs that came and went", "MB", [grown[1]], 5),
    ]
