"""The same loads on PostgreSQL, beside the same rows written to it bare, in this process."""

import time
from uuid import uuid4

import psycopg

from tests.bench.figures import Figure, percentile, rounds
from tests.bench.latency import commit_to_subscriber_ms
from tests.bench.server import running_server
from tests.bench.submitting import PAUSED, REQUESTS, load
from tests.bench.throughput import jobs_per_second
from tests.postgres_server import PostgresServer

JOBS = 1_000
"""At a hundred a second; a talking job has no more company than that for as long as it talks."""


def bare_per_second(url: str, rows: int = 1_000) -> float:
    """Synced transactions of four inserts, one after the other."""
    text = "x" * 100
    with psycopg.connect(url, autocommit=True) as connection:
        for table in "abcd":
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (id TEXT PRIMARY KEY, text TEXT, at FLOAT)"
            )
        connection.autocommit = False
        began = time.perf_counter()
        for _ in range(rows):
            for table in "abcd":
                connection.execute(f"INSERT INTO {table} VALUES (%s, %s, %s)", (str(uuid4()), text, 0.0))
            connection.commit()
        return rows / (time.perf_counter() - began)


def measure() -> list[Figure]:
    """A server of the installed version that syncs to disk, and backends on it."""
    postgres = PostgresServer(fsync=True)
    submits, bare, jobs, latencies = [], [], [], []
    try:
        bare_url = postgres.create()
        with running_server(JOBDECK_DB_URL=postgres.create()) as server:
            server.pause(PAUSED)
            load(server, 500, PAUSED)  # warm
            for _ in range(rounds(5, 2)):
                bare.append(bare_per_second(bare_url))
                submits.append(load(server, REQUESTS, PAUSED))
        with running_server(JOBDECK_DB_URL=postgres.create()) as server:
            for _ in range(rounds(3, 1)):
                jobs.append(jobs_per_second(server, JOBS))
                latencies.append(commit_to_subscriber_ms(server, JOBS))
                server.wait_until_drained()
    finally:
        postgres.remove()
    ratios = [run.per_second / alone for run, alone in zip(submits, bare, strict=True)]
    return [
        Figure(
            "PostgreSQL: submit, idle",
            "accepted/s",
            [run.per_second for run in submits],
            1_000,
            at_least=True,
        ),
        Figure("PostgreSQL: submit, idle, p95", "ms", [run.p95_ms for run in submits], 60),
        Figure("PostgreSQL: submit, errors", "errors", [float(max(run.errors for run in submits))], 0),
        Figure("bare PostgreSQL, a synced transaction each", "transactions/s", bare),
        Figure("PostgreSQL: submit ÷ bare PostgreSQL", "ratio", ratios),
        Figure("PostgreSQL: no-op jobs end to end", "jobs/s", jobs, 100, at_least=True),
        Figure("PostgreSQL: commit → subscriber, p50", "ms", [percentile(one, 0.5) for one in latencies], 5),
        Figure(
            "PostgreSQL: commit → subscriber, p99", "ms", [percentile(one, 0.99) for one in latencies], 20
        ),
    ]
