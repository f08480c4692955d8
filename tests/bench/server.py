"""The backend under measurement: a process of its own on a state directory of its own."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg


class Server:
    """A running backend with two workers, as its callers, its database and the operating system see it."""

    def __init__(
        self, ready: dict[str, object], process: "subprocess.Popen[bytes]", db_url: str | None = None
    ) -> None:
        self.url = str(ready["url"])
        self.state_dir = Path(str(ready["state_dir"]))
        self.process = psutil.Process(process.pid)
        self.http = httpx.Client(base_url=self.url, timeout=30, verify=False)
        if db_url is None:
            self.place: Path | str = self.state_dir / "jobdeck.db"
            self._records: Any = sqlite3.connect(f"file:{self.place}?mode=ro", uri=True, timeout=30)
        else:
            self.place = db_url
            self._records = psycopg.connect(db_url, autocommit=True)
        self._holder = "?" if db_url is None else "%s"

    def row(self, sql: str, *values: object) -> tuple:
        """The first row of a query; its snapshot ends at once."""
        return self._records.execute(sql.replace("?", self._holder), values).fetchone()

    def rows(self, sql: str, *values: object) -> list[tuple]:
        """All rows of a query."""
        return self._records.execute(sql.replace("?", self._holder), values).fetchall()

    def submit(self, work: dict, **fields: object) -> str:
        """Submit one probe job; its id."""
        body = {"agent_type": "probe", "input": json.dumps(work), **fields}
        answer = self.http.post("/v1/jobs/async/submit", json=body)
        answer.raise_for_status()
        return answer.json()["job_id"]

    def cancel(self, job_id: str) -> None:
        """Cancel a job, whether it is finished or not."""
        self.http.post(f"/v1/jobs/async/job/{job_id}/cancel")

    def pause(self, queue: str) -> None:
        """Accept jobs into this queue without starting them."""
        self.http.post(f"/v1/ops/queues/{queue}/pause", json={}).raise_for_status()

    def wait_until_drained(self, timeout_s: float = 120) -> None:
        """Until no job is unfinished."""
        unfinished = "SELECT count(*) FROM admissions WHERE outcome IS NULL"
        wait_until(lambda: self.row(unfinished) == (0,), timeout_s, look_s=0.05)

    def wait_for_dask(self) -> None:
        """Until the cluster is up."""
        wait_until(lambda: self.http.get("/health").json()["dask_available"], 30)

    def scheduler_pid(self) -> int:
        """The process that the fork server started first in this epoch."""
        (fork_server,) = (one for one in self.process.children() if one.name() == "forkserver")
        return min(fork_server.children(), key=lambda child: (child.create_time(), child.pid)).pid

    def pss_mb(self) -> float:
        """Proportional set size of the whole process tree, in MB: shared pages are counted once."""
        total_kb = 0
        for process in [self.process, *self.process.children(recursive=True)]:
            for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total_kb += int(line.split()[1])
        return total_kb / 1000


def wait_until(holds: Callable[[], bool], timeout_s: float, look_s: float = 0.01) -> None:
    """Until the condition holds. Raises ``TimeoutError``."""
    end = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not so within {timeout_s} s")
        time.sleep(look_s)


@contextmanager
def running_server(**environment: str) -> Iterator[Server]:
    """A fresh backend, its cluster up; gone, with its state directory, at the end."""
    with tempfile.TemporaryDirectory(prefix="jobdeck-bench-") as directory:
        command = [sys.executable, "-m", "jobdeck_backend", "--port", "0", "--follow-stdin"]
        process = subprocess.Popen(
            [*command, "--state-dir", directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "JOBDECK_MAX_RUNNING_ASYNC_JOBS": "2",
                "JOBDECK_DASK_THREADS_PER_WORKER": "1",
                **environment,
            },
        )
        assert process.stdin is not None
        assert process.stdout is not None
        server = Server(json.loads(process.stdout.readline()), process, environment.get("JOBDECK_DB_URL"))
        try:
            server.wait_for_dask()
            yield server
        finally:
            server.http.close()
            process.stdin.close()
            process.wait(30)
