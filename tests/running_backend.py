"""A backend as a person runs it: its own process on its own state directory, spoken to over HTTP."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote

import httpx
from event_frames import Frame, frames_of
from jobdeck_backend.jobs.records import Attempt, Job, StageRun
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store import jobs, leases
from jobdeck_backend.store.artifact_files import ArtifactFiles
from jobdeck_backend.store.engine import Database
from warm_process import WarmProcess

T = TypeVar("T")
JOBS = "/v1/jobs/async"
TERMINAL = {"success", "failure", "interrupted"}
LOOK_S = 0.04


def wait_until(condition: Callable[[], T], timeout_s: float = 10.0, *, what: str | None = None) -> T:
    """Ask again and again until the answer is true; fails with ``what`` (or its name) and the last answer."""
    until = time.monotonic() + timeout_s
    while not (answer := condition()):
        if time.monotonic() >= until:
            name = what or getattr(condition, "__qualname__", repr(condition))
            raise AssertionError(f"not within {timeout_s:g} s: {name}; the last answer was {answer!r}")
        time.sleep(LOOK_S)
    return answer


class StartError(AssertionError):
    """The backend did not start; what it said and its exit code."""

    def __init__(self, exit_code: int, stdout: str, stderr: str) -> None:
        super().__init__(f"the backend ended with {exit_code} before it was ready: {stderr.strip()[-2000:]}")
        self.exit_code, self.stdout, self.stderr = exit_code, stdout, stderr


def _cold(arguments: list[str], variables: Mapping[str, str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "jobdeck_backend", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=variables,
        start_new_session=True,
    )


def _role(name: str) -> str:
    """What a process is by the name that it gave itself."""
    if name == "forkserver":
        return "fork server"
    if name.startswith("scheduler-e"):
        return "scheduler"
    return "worker" if re.fullmatch(r"w\d+-e\d+", name) else "backend"


class RunningBackend:
    """One backend process and everything a test asks it or its state directory."""

    def __init__(self, state_dir: Path, *arguments: str, **environment: str) -> None:
        """Start and wait for the ready line. Raises ``StartError`` when it ends before."""
        self.state_dir = state_dir
        self.log = state_dir.parent / f"{state_dir.name}.stderr"
        variables = {key: value for key, value in os.environ.items() if not key.startswith("JOBDECK_")}
        # The mark by which all its processes are found again, whatever session or parent they have.
        variables |= {"JOBDECK_STATE_DIR": str(state_dir), **environment}
        url = environment.get("JOBDECK_DB_URL", f"sqlite:///{state_dir / 'jobdeck.db'}")
        path = Path(url.removeprefix("sqlite:///"))
        self.database_place = path if url.startswith("sqlite:///") else url
        """The SQLite file, or a PostgreSQL URL."""
        command = ["--port", "0", "--state-dir", str(state_dir), "--follow-stdin", *arguments]
        with self.log.open("ab") as log:
            # What is for the interpreter itself is heeded by one that starts.
            warm = not any(name.startswith("PYTHON") for name in environment)
            self.process = WarmProcess(command, variables, log) if warm else _cold(command, variables, log)
        self.pid = self.process.pid
        self.ready = json.loads(self._ready_line())
        self.url: str = self.ready["url"]
        self.http = httpx.Client(base_url=self.url, timeout=20, verify=False)  # certificates take 35 ms
        self._database: Database | None = None

    def _ready_line(self) -> bytes:
        readable, _, _ = select.select([self.process.stdout], [], [], 30)
        line = self.process.stdout.readline() if readable else b""
        if not line:
            self.process.kill()
            self.process.wait()
            stdout = self.process.stdout.read().decode()
            raise StartError(self.process.returncode, stdout, self.log.read_text())
        return line

    # Asking it.

    def submit(self, *stages: Mapping[str, Any], output: Any = None, **body: Any) -> str:
        """Submit a probe job of these stages; answers its id."""
        request = {"stages": list(stages), "output": output}
        return self.submit_text(json.dumps(request), **{"agent_type": "probe", **body})

    def submit_text(self, text: str, **body: Any) -> str:
        """Submit any job; answers its id."""
        answer = self.http.post(f"{JOBS}/submit", json={"input": text, **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job_id"])

    def job(self, job_id: str) -> dict[str, Any]:
        """The job's status as the jobs API gives it."""
        answer = self.http.get(f"{JOBS}/job/{job_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def act(self, job_id: str, act: str, **body: Any) -> httpx.Response:
        """An operator's act on a job."""
        return self.http.post(f"/v1/ops/jobs/{job_id}/{act}", json=body)

    def wait_for(self, job_id: str, *statuses: str, timeout_s: float = 20.0) -> dict[str, Any]:
        """Wait until the job has one of these statuses (default: a terminal one); answers its record."""
        wanted = set(statuses) or TERMINAL

        def reached() -> dict[str, Any] | None:
            self.last_seen = self.job(job_id)
            return self.last_seen if self.last_seen["status"] in wanted else None

        try:
            return wait_until(reached, timeout_s)  # type: ignore[return-value]
        except AssertionError:
            raise AssertionError(
                f"job {job_id} did not reach {sorted(wanted)} in {timeout_s:g} s: {self.last_seen}; "
                f"attempts {self.attempts(job_id)}; log:\n{self.log.read_text()[-3000:]}"
            ) from None

    def wait_for_dask(self, timeout_s: float = 20.0) -> None:
        """Wait until the scheduler is up."""
        wait_until(lambda: self.http.get("/health").json()["dask_available"], timeout_s, what="Dask is up")

    @contextmanager
    def stream(self, job_id: str, after: int | None = None, **headers: str) -> Iterator[Iterator[Frame]]:
        """The job's stream, frame by frame."""
        path = f"{JOBS}/job/{job_id}/stream" + ("" if after is None else f"/{after}")
        with self.http.stream("GET", path, headers=headers) as response:
            response.raise_for_status()
            yield frames_of(response)

    def events(self, job_id: str, after: int | None = None, **headers: str) -> list[Frame]:
        """The job's whole stream, read to its end."""
        with self.stream(job_id, after, **headers) as frames:
            return list(frames)

    # What is on record.

    @property
    def database(self) -> Database:
        """The instance's database, to be read beside the running backend."""
        if self._database is None:
            self._database = Database(self.database_place, synchronous="NORMAL")
        return self._database

    @property
    def artifact_files(self) -> ArtifactFiles:
        """The bytes of its artifacts."""
        return ArtifactFiles(self.state_dir / "artifacts")

    def artifacts(self, job_id: str) -> list[dict[str, Any]]:
        """The job's files as the jobs API tells them."""
        answer = self.http.get(f"{JOBS}/job/{job_id}/artifacts")
        assert answer.status_code == 200, answer.text
        return list(answer.json()["artifacts"])

    def record(self, job_id: str) -> Job:
        """The job record."""
        with self.database.read() as tx:
            job = jobs.load_job(tx, job_id)
        assert job is not None
        return job

    def attempts(self, job_id: str) -> list[Attempt]:
        """The job's executions."""
        with self.database.read() as tx:
            return jobs.load_attempts(tx, job_id)

    def stages(self, job_id: str) -> list[StageRun]:
        """The job's completed stages."""
        with self.database.read() as tx:
            return jobs.load_stages(tx, job_id)

    def effects(self, job_id: str) -> list[dict[str, Any]]:
        """The job's effects as the operations API tells them."""
        return list(self.http.get(f"/v1/ops/jobs/{job_id}").json()["effects"])

    def judge(self, job_id: str, key: str, verdict: str, **body: Any) -> httpx.Response:
        """Give a verdict on an effect."""
        path = f"/v1/ops/jobs/{job_id}/effects/{quote(key)}"
        return self.http.post(path, json={"verdict": verdict, **body})

    def transitions(self, job_id: str) -> list[str]:
        """The names of the job's transitions in order."""
        with self.database.read() as tx:
            return [row["name"] for row in jobs.load_transitions(tx, job_id)]

    def journal(self, job_id: str | None = None, workflow: str = "probe") -> list[dict[str, Any]]:
        """The workflow's journal lines, of one job or of all."""
        path = self.state_dir / f"{workflow}-journal.jsonl"
        written = path.read_text() if path.exists() else ""
        whole = written[: written.rfind("\n") + 1]  # a line may just be on its way
        lines = [json.loads(line) for line in whole.splitlines()]
        return [line for line in lines if job_id in {None, line["job_id"]}]

    def journal_stages(self, job_id: str, event: str = "stage_completed") -> list[str]:
        """The names of the stages that the journal says this happened to, in order."""
        return [line["stage"] for line in self.journal(job_id) if line["event"] == event]

    def wait_for_stage(self, job_id: str, stage: str, timeout_s: float = 15.0) -> int:
        """Wait until a stage was started; answers the process that runs it."""
        wait_until(
            lambda: stage in self.journal_stages(job_id, "stage_started"),
            timeout_s,
            what=f"job {job_id} starts stage {stage}",
        )
        started = [line for line in self.journal(job_id) if line["event"] == "stage_started"]
        return int(next(line["pid"] for line in reversed(started) if line["stage"] == stage))

    def assert_no_stage_repeated(self, job_id: str, names: list[str]) -> None:
        """Every stage is on record once, and by the journal no attempt began one that was on record (R20).

        A process killed before the save of a stage's checkpoint leaves a beginning in the journal and nothing on
        record: that stage runs again. Killed just after it, no end in the journal, and the stage on record.
        """
        runs = {run.node: run for run in self.stages(job_id) if run.node in names}
        assert list(runs) == names
        assert set(names) <= set(self.journal_stages(job_id, "stage_started"))
        for line in self.journal(job_id):
            assert line["attempt"] <= runs[line["stage"]].attempt, f"{line} comes after {runs[line['stage']]}"

    def violations(self) -> list[fsck.Violation]:
        """The invariants that the records break."""
        with self.database.read() as tx:
            return fsck.check(tx, self.state_dir / "probe-journal.jsonl", self.artifact_files)

    # Its processes.

    def processes(self) -> dict[int, str]:
        """``pid → role`` of all that belongs to this state directory and is not a zombie, oldest first.

        Roles are ``backend``, ``fork server``, ``scheduler`` and ``worker``.
        """
        found = sorted(
            (process for entry in Path("/proc").iterdir() if (process := self._look_at(entry))),
            key=lambda process: process[1],
        )
        return {pid: role for pid, _started, role in found}

    def _look_at(self, entry: Path) -> tuple[int, int, str] | None:
        """``(pid, start time, role)`` of one entry of /proc, if it is ours and alive: they name themselves."""
        try:
            if not entry.name.isdecimal():
                return None
            if f"JOBDECK_STATE_DIR={self.state_dir}".encode() not in (entry / "environ").read_bytes().split(
                b"\0"
            ):
                return None
            state, *rest = (entry / "stat").read_text().rpartition(")")[2].split()
            name = (entry / "comm").read_text()
        except OSError:
            return None
        if state == "Z":
            return None
        return int(entry.name), int(rest[18]), _role(name.strip())

    def pid_of(self, role: str) -> int:
        """The oldest process with that role."""
        return next(pid for pid, found in self.processes().items() if found == role)

    def lease_epoch(self, role: str) -> int:
        """The epoch on record of ``scheduler`` or ``recovery``."""
        with self.database.read() as tx:
            lease = leases.load(tx, role)
        return 0 if lease is None else lease.epoch

    def epoch(self) -> int:
        """The scheduler's epoch on record."""
        return self.lease_epoch("scheduler")

    def wait_for_epoch(self, epoch: int, timeout_s: float = 20.0) -> None:
        """Wait until that epoch, or a later one, is up."""
        wait_until(lambda: self.epoch() >= epoch, timeout_s, what=f"epoch {epoch}")
        self.wait_for_dask(timeout_s)

    def cluster(self) -> dict[str, Any]:
        """Dask's own picture, with process ids."""
        answer = self.http.get("/v1/ops/cluster")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def overview(self) -> dict[str, Any]:
        """The operations API's snapshot."""
        answer = self.http.get("/v1/ops/overview")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def worker_directories(self) -> list[str]:
        """Dask's scratch directories, one a worker."""
        found = (self.state_dir / "dask").rglob("*worker-*")
        return sorted(path.name for path in found if path.is_dir())

    def wait_until_gone(self, timeout_s: float = 10.0) -> None:
        """Wait until no process of this state directory is left."""
        self.process.wait(timeout_s)
        wait_until(lambda: not self.processes(), timeout_s, what="no process is left behind")

    def signal(self, number: signal.Signals) -> None:
        """Send the backend process a signal."""
        os.kill(self.pid, number)

    def stop(self) -> int:
        """End it as its parent's end would, and see that nothing is left; answers the exit code."""
        if self.process.poll() is None:
            self.process.stdin.close()
        try:
            self.wait_until_gone()
        finally:
            self.kill()
        return self.process.returncode

    def kill(self) -> None:
        """SIGKILL, whatever state it is in."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.http.close()
        self.process.stdout.close()

    def finish(self) -> None:
        """Stop it, and hold the records to the invariants."""
        self.stop()
        violations = self.violations()
        if self._database is not None:
            self._database.close()
        assert not violations, violations
