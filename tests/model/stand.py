"""Where the machine's steps happen: a real database, reaper and writer, a clock that goes only when told."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine
from job_model import Bounds, Execution, ModelJob
from jobdeck_backend import clock
from jobdeck_backend.errors import JobdeckError
from jobdeck_backend.jobs.records import NO_DEADLINE, Delivery, Status
from jobdeck_backend.recovery import fsck
from jobdeck_backend.recovery.reaper import Reaper
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import events
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

TABLES = ("admissions", "jobs", "attempts", "stages")
# What an execution that lost its job had to say is kept with it, however late: no part of the job.
ASIDE = {"late_output", "traceback"}
# A predecessor inherits nearer deadlines: the one column by which a step may change a job it is not about.
INHERITED = "dispatch_deadline"


def among(name: str) -> st.SearchStrategy[Any]:
    """One of what the machine's method ``name`` answers now, if there is any."""

    def choose(machine: "Stand") -> st.SearchStrategy[Any]:
        return st.sampled_from(getattr(machine, name)() or machine.all_jobs())

    return st.runner().flatmap(choose)


SELDOM = st.sampled_from([False, False, False, True])


class InterleavedWriter(Writer):
    """A writer in whose queue something else came before recovery's next command."""

    meanwhile: Callable[[], None] | None = None

    def submit(self, command, *args, **kwargs):
        if self.meanwhile is not None and command.__module__.endswith("commands.recovery"):
            happen, self.meanwhile = self.meanwhile, None
            happen()
        return super().submit(command, *args, **kwargs)


class Stand(RuleBasedStateMachine):
    """The records, the model beside them, and their comparison.

    The test gives the ``runner``, and a ``database`` for all runs: each begins with what ``template`` holds.
    """

    template: Path
    settings: Settings
    database: Database
    runner: asyncio.Runner
    steps = 0
    """Of all runs."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0.0
        clock.time = SimpleNamespace(monotonic=lambda: self.elapsed)
        self.look = sqlite3.connect(self.settings.database_path)
        self.look.row_factory = sqlite3.Row
        with closing(sqlite3.connect(self.template)) as template:
            template.backup(self.look)
        self.writer = InterleavedWriter(self.database)
        self.reaper = Reaper(
            self.settings, self.database, self.writer, worker_gone=lambda one: self.gone.get(one.worker)
        )
        self.bounds = Bounds(
            self.settings.expire_grace_s,
            self.settings.heartbeat_stale_s,
            self.settings.cancel_grace_s,
            self.settings.lost_attempts_max,
        )
        self.jobs: dict[str, ModelJob] = {}
        self.deliveries: list[Delivery] = []
        self.epoch, self.born = 1, 0
        self.workers: list[str] = []
        self.gone: dict[str, str] = {}
        self.paused: set[str] = set()
        self.other_holds_lease_until = 0.0
        self.acts = 0
        self.rows: dict[str, dict[str, Any]] = {}
        self.touched: set[str] = set()
        self.heard: dict[str, list[tuple[int, str | None]]] = {}
        self.fed: dict[str, list[int]] = {}
        self.position = 0

    def teardown(self) -> None:
        self.writer.stop()
        self.look.close()

    @property
    def now(self) -> float:
        return clock.now()

    # What steps are made of.

    def run(self, command: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """One transaction; answers what the command did, or the refusal it raised."""
        try:
            with self.database.write() as tx:
                return command(tx, *args, **kwargs)
        except JobdeckError as error:
            return error

    def touch(self, *jobs: ModelJob) -> None:
        """The step is about these jobs: the others' rows must stay as they are."""
        self.touched.update(job.job_id for job in jobs)

    def commits(self) -> int:
        """A number that changes with every commit."""
        return self.look.execute("PRAGMA data_version").fetchone()[0]

    # What there is to choose from.

    def all_jobs(self) -> list[ModelJob]:
        return list(self.jobs.values())

    def unfinished_jobs(self) -> list[ModelJob]:
        return [job for job in self.jobs.values() if not job.status.terminal]

    def resumable_jobs(self) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.resumable(self.now)]

    def timed_jobs(self) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.deadline is not None]

    def recent_deliveries(self) -> list[Delivery]:
        return self.deliveries[:-9:-1]

    def all_workers(self) -> list[str]:
        return self.workers

    def threads(self) -> list[Execution]:
        """Executions whose thread can still do something, whatever the record says of them."""
        return [
            one
            for job in self.jobs.values()
            for one in job.executions
            if not one.over and one.claim.worker not in self.gone
        ]

    def backlog(self, *, dependent: bool) -> list[ModelJob]:
        return [
            job
            for job in self.jobs.values()
            if job.status is Status.SUBMITTED and not job.delivered and not job.held and not job.live()
            if job.queue not in self.paused and bool(job.after) == dependent
        ]

    def delivered(self) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.delivered]

    def urgency(self, job: ModelJob) -> tuple[float, float]:
        row = self.rows[job.job_id]
        return row[INHERITED], row["accepted_at"]

    def unfinished_before(self, job: ModelJob) -> set[str]:
        return {name for name in job.after if not self.jobs[name].status.terminal}

    def waits_for_a_person(self, job: ModelJob) -> bool:
        return job.held or any(
            self.waits_for_a_person(self.jobs[name]) for name in self.unfinished_before(job)
        )

    # Readers.

    def read(self, job_id: str, limit: int) -> int:
        """A job's log from where its reader was: no event twice, none left out (R27)."""
        heard = self.heard.setdefault(job_id, [])
        with self.database.read() as tx:
            new = events.read_after(tx, job_id, len(heard), limit)
        assert [one.seq for one in new] == list(range(len(heard) + 1, len(heard) + 1 + len(new)))
        heard += [(one.seq, one.status) for one in new]
        return len(new)

    def follow(self, limit: int) -> int:
        """All jobs' events from where the feed's reader was."""
        with self.database.read() as tx:
            new, _more = events.read_feed(tx, self.position, limit)
        for one in new:
            assert one.position > self.position
            self.position = one.position
            self.fed.setdefault(one.job_id, []).append(one.seq)
        return len(new)

    # What must hold.

    def compare(self) -> None:
        """Jobs are what the model says; those that the step was not about have not changed at all."""
        type(self).steps += 1
        rows = self._read_rows()
        assert rows.keys() == self.jobs.keys()
        for job_id, row in rows.items():
            job = self.jobs[job_id]
            if job_id not in self.touched:
                before = {**self.rows[job_id], INHERITED: row[INHERITED]}
                assert row == before, f"the step was not about {job_id}"
            seen, expected = _seen(row), _expected(job)
            wrong = {name: (seen[name], expected[name]) for name in seen if seen[name] != expected[name]}
            assert not wrong, f"{job} as it is and as it should be: {wrong}"
            assert row[INHERITED] <= (NO_DEADLINE if job.deadline is None else job.deadline)
            for name in self.unfinished_before(job) if not job.status.terminal else ():
                assert rows[name][INHERITED] <= row[INHERITED], f"{name} is less urgent than {job}"
        self.rows = rows
        self.touched.clear()
        self.elapsed += 0.001  # no two steps happen at the same instant

    def _read_rows(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for table in TABLES:
            for row in self.look.execute(f"SELECT * FROM {table}"):
                if table in {"admissions", "jobs"}:
                    found.setdefault(row["job_id"], {"attempts": [], "stages": []}).update(row)
                else:
                    kept = {name: row[name] for name in row.keys() if name not in ASIDE}  # noqa: SIM118
                    found[row["job_id"]][table].append(kept)
        assert self.look.execute("SELECT count(*) FROM audit").fetchone()[0] == self.acts
        return found

    def check_the_whole_log(self) -> None:
        """Every reader has the log as it is stored, its last status the job's (R14, R27); ``fsck`` is content."""
        while self.follow(100):
            continue
        for job in self.jobs.values():
            while self.read(job.job_id, 100):
                continue
            heard = self.heard[job.job_id]
            assert self.fed[job.job_id] == [seq for seq, _status in heard]
            assert len(heard) == self.rows[job.job_id]["event_seq"]
            assert [status for _seq, status in heard if status is not None][-1] == job.status
        with self.database.read() as tx:
            assert fsck.check(tx) == []


def _seen(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": row["status"],
        "outcome": row["outcome"],
        "held": row["held_reason"] is not None,
        "delivered": row["status"] == Status.SUBMITTED and row["delivered_epoch"] is not None,
        "fence": row["fence"],
        "version": row["version"],
        "attempt": row["attempt"],
        "deadline": row["deadline"],
        "cancel asked": row["cancel_requested_at"],
        "acknowledged": row["cancel_acknowledged_at"] is not None,
        "revoked": row["revoked_at"] is not None,
        "output": row["output"] and orjson.loads(row["output"]),
        "live": [one["attempt"] for one in row["attempts"] if one["ended_at"] is None],
        "stages": [one["step"] for one in row["stages"]],
    }


def _expected(job: ModelJob) -> dict[str, Any]:
    return {
        "status": job.status,
        "outcome": job.outcome,
        "held": job.held,
        "delivered": job.delivered,
        "fence": job.fence,
        "version": job.version,
        "attempt": len(job.executions),
        "deadline": job.deadline,
        "cancel asked": job.cancel_asked_at,
        "acknowledged": job.acknowledged,
        "revoked": job.revoked,
        "output": job.output,
        "live": [one.claim.attempt for one in job.live()],
        "stages": list(range(1, job.stages + 1)),
    }
