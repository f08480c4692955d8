"""Submit at concurrency 32, beside the same rows written to bare SQLite one transaction each."""

import json
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from tests.bench.figures import Figure, percentile, rounds
from tests.bench.server import Server

CONNECTIONS = 32
REQUESTS = 3_000
PAUSED = "bench-paused"


@dataclass(frozen=True)
class Submitted:
    """One run of the load."""

    per_second: float
    p95_ms: float
    errors: int
    status_ms: list[float]
    """How long each look at a job's status took meanwhile, one after the other."""


def load(server: Server, requests: int, queue: str) -> Submitted:
    """Submit no-op jobs from a process of its own."""
    with started(server, CONNECTIONS, requests, 0, "submit", queue) as process:
        told = json.loads(process.communicate()[0])
    return _submitted(told, [])


def load_and_look(server: Server, requests: int, queue: str) -> Submitted:
    """As ``load``, looking at a job's status all the while."""
    job_id = server.submit({}, queue=queue)
    taken = []
    with (
        started(server, CONNECTIONS, requests, 0, "submit", queue) as process,
        ThreadPoolExecutor(1) as pool,
    ):
        told = pool.submit(process.communicate)
        while not told.done():
            began = time.perf_counter()
            server.http.get(f"/v1/jobs/async/job/{job_id}").raise_for_status()
            taken.append((time.perf_counter() - began) * 1_000)
    return _submitted(json.loads(told.result()[0]), taken)


def _submitted(told: dict[str, Any], status_ms: list[float]) -> Submitted:
    p95_ms = percentile(told["latencies"], 0.95) * 1_000
    return Submitted(told["accepted"] / told["seconds"], p95_ms, told["errors"], status_ms)


def started(
    server: Server, connections: int, requests: int, rate: float, *what: str
) -> "subprocess.Popen[bytes]":
    """An HTTP client on its way; see ``http_load``."""
    url = urlsplit(server.url)
    words = [url.hostname, url.port, connections, requests, rate, *what]
    command = [sys.executable, "-m", "tests.bench.http_load", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def bare_sqlite_per_second(rows: int = 2_000) -> float:
    """Synced transactions of four inserts, one after the other, in this process."""
    text = "x" * 100
    with TemporaryDirectory(prefix="jobdeck-bench-") as directory:
        connection = sqlite3.connect(Path(directory) / "bare.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        for table in "abcd":
            connection.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY, text TEXT, at REAL)")
        began = time.perf_counter()
        for number in range(rows):
            connection.execute("BEGIN IMMEDIATE")
            for table in "abcd":
                connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", (str(number), text, 0.0))
            connection.execute("COMMIT")
        seconds = time.perf_counter() - began
        connection.close()
    return rows / seconds


def measure(server: Server) -> list[Figure]:
    """Idle: the jobs' queue is paused. Busy: both workers have a backlog of jobs to run all the while."""
    server.pause(PAUSED)
    load(server, 500, PAUSED)  # warm
    idle, bare = [], []
    for _ in range(rounds(5, 2)):
        bare.append(bare_sqlite_per_second())
        idle.append(load(server, REQUESTS, PAUSED))
    load(server, 1_000, "probe")
    busy = [load(server, REQUESTS, "probe") for _ in range(rounds(5, 2))]
    looked = [load_and_look(server, REQUESTS, PAUSED) for _ in range(rounds(5, 2))]
    ratios = [run.per_second / alone for run, alone in zip(idle, bare, strict=True)]
    errors = [float(run.errors) for run in [*idle, *busy]]
    return [
        Figure("submit, idle", "accepted/s", [run.per_second for run in idle], 2_000, at_least=True),
        Figure("submit, idle, p95", "ms", [run.p95_ms for run in idle], 40),
        Figure("status while submitting, p50", "ms", [percentile(run.status_ms, 0.5) for run in looked], 3),
        Figure("submit while jobs run", "accepted/s", [run.per_second for run in busy], 1_000, at_least=True),
        Figure("submit while jobs run, p95", "ms", [run.p95_ms for run in busy], 40),
        Figure("submit, errors", "errors", [max(errors)], 0),
        Figure("bare SQLite, a synced transaction each", "transactions/s", bare),
        Figure("submit ÷ bare SQLite", "ratio", ratios),
    ]
