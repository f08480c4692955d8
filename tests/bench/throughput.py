"""No-op jobs end to end, beside bare Dask in the same minute, and what the backend weighs after them."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.bare_dask import tasks_per_second
from tests.bench.figures import Figure, rounds
from tests.bench.server import Server
from tests.bench.submitting import load

JOBS = 2_000


def jobs_per_second(server: Server, number: int = JOBS) -> float:
    """From the first acceptance to the last outcome, submitting included."""
    (before,) = server.row("SELECT coalesce(max(accepted_at), 0) FROM admissions")
    load(server, number, "probe")
    server.wait_until_drained()
    began, ended, succeeded = server.row(
        "SELECT min(accepted_at), max(finished_at), count(CASE WHEN outcome = 'succeeded' THEN 1 END) "
        "FROM admissions WHERE accepted_at > ?",
        before,
    )
    assert succeeded == number, f"{number - succeeded} jobs did not succeed"
    return number / (ended - began)


def bare_per_second() -> float:
    """The same number of no-op tasks on bare Dask."""
    with TemporaryDirectory(prefix="jobdeck-bench-") as directory:
        return asyncio.run(tasks_per_second(Path(directory), JOBS))


def measure(server: Server) -> list[Figure]:
    """Pairs of runs; the memory after the first 2,000 jobs."""
    jobs, bare, memory = [], [], []
    for _ in range(rounds(3, 1)):
        jobs.append(jobs_per_second(server))
        memory.append(server.pss_mb())
        bare.append(bare_per_second())
    ratios = [run / alone for run, alone in zip(jobs, bare, strict=True)]
    return [
        Figure("no-op jobs end to end", "jobs/s", jobs, 150, at_least=True),
        Figure("bare Dask", "tasks/s", bare),
        Figure("no-op jobs ÷ bare Dask", "ratio", ratios, 0.5, at_least=True),
        Figure("backend with 2 workers after 2,000 jobs, PSS", "MB", memory[:1], 330),
    ]
