"""The real commands and the real reaper on a real database, step by step beside a tiny model of them.

After each step every job must be what the model says, and every row of a job that the step was not about must
be as it was. After each run the records pass ``fsck``, every reader has the whole log, and all that is
unfinished can still be brought to its end.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from job_model import Bounds, Execution, ModelJob
from jobdeck_backend import clock
from jobdeck_backend.commands import delivery, execution, notices, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import JobdeckError, JobExists, JobStopped, NotEligible, Refused
from jobdeck_backend.jobs.records import NO_DEADLINE, Delivery, StageRun, Status
from jobdeck_backend.recovery import fsck
from jobdeck_backend.recovery.reaper import ROLE, Reaper
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import events, leases
from jobdeck_backend.store.engine import Database, commit_counter
from jobdeck_backend.store.writer import Writer
from sqlalchemy import text

STEPS = int(os.environ.get("JOBDECK_MODEL_STEPS", "4000"))
STEPS_A_RUN = 50
JOBS_MAX = 8
PASSES_MAX = 6
TABLES = ("jobs", "admissions", "attempts", "stages")

taken = 0
"""Steps of all runs."""


def among(name: str) -> st.SearchStrategy[Any]:
    """One of what the machine's method ``name`` answers now."""
    return st.runner().flatmap(lambda machine: st.sampled_from(getattr(machine, name)()))


class InterleavedWriter(Writer):
    """A writer in whose queue something else came before recovery's next command."""

    meanwhile: Callable[[], None] | None = None

    def submit(self, command, *args, **kwargs):
        if self.meanwhile is not None and command.__module__.endswith("commands.recovery"):
            happen, self.meanwhile = self.meanwhile, None
            happen()
        return super().submit(command, *args, **kwargs)


class CommandMachine(RuleBasedStateMachine):
    """``template`` and ``runner`` are given by the test."""

    template: Path
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.settings = Settings(state_dir=self.directory)
        shutil.copy(self.template, self.settings.database_path)
        self.elapsed = 0.0
        clock.time = SimpleNamespace(monotonic=lambda: self.elapsed)
        self.database = Database(self.settings.database_path, synchronous="NORMAL")
        self.look = self.database.open_reader()
        self.commits = commit_counter(self.look)
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
        self.heard: dict[str, list[tuple[int, str, str | None]]] = {}
        self.fed: dict[str, list[int]] = {}
        self.position = 0
        for _ in range(2):
            self.add_worker()

    def teardown(self) -> None:
        try:
            self.bring_all_to_an_end()
            self.check_the_whole_log()
            with self.database.read() as tx:
                assert fsck.check(tx) == []
        finally:
            self.writer.stop()
            self.look.close()
            self.database.close()
            shutil.rmtree(self.directory)

    # What steps are made of.

    @property
    def now(self) -> float:
        return clock.now()

    def run(self, command: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """One transaction; answers what the command did, or what it raised."""
        try:
            with self.database.write() as tx:
                return command(tx, *args, **kwargs)
        except JobdeckError as error:
            return error

    def touch(self, *jobs: ModelJob) -> None:
        self.touched.update(job.job_id for job in jobs)

    def add_worker(self) -> None:
        self.born += 1
        self.workers.append(f"w{self.born}-e{self.epoch}")

    def all_jobs(self) -> list[ModelJob]:
        return list(self.jobs.values())

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

    def urgency(self, job: ModelJob) -> tuple[float, float]:
        row = self.rows[job.job_id]
        return row["dispatch_deadline"], row["accepted_at"]

    def unfinished_before(self, job: ModelJob) -> set[str]:
        return {name for name in job.after if not self.jobs[name].status.terminal}

    # Callers.

    @precondition(lambda self: len(self.jobs) < JOBS_MAX)
    @rule(
        deadline_s=st.sampled_from([None, None, 2.0, 6.0, 30.0, 300.0]),
        after=st.runner().flatmap(
            lambda self: (
                st.sets(st.sampled_from(sorted(self.jobs)), max_size=2) if self.jobs else st.just(set())
            )
        ),
        policy=st.sampled_from(["succeeded", "finished"]),
        queue=st.sampled_from(["one", "two"]),
        own_thread=st.sampled_from([True, True, False]),
        data=st.data(),
    )
    def submit(self, deadline_s, after, policy, queue, own_thread, data):
        job_id = f"job-{len(self.jobs) + 1}"
        thread = job_id
        if not own_thread and self.jobs:
            thread = data.draw(st.sampled_from(sorted(one.thread_id for one in self.jobs.values())))
        new = NewJob(
            agent_type="probe",
            input="{}",
            queue=queue,
            job_id=job_id,
            thread_id=thread,
            deadline_seconds=deadline_s,
            after=tuple(sorted(after)),
            after_policy=policy,
        )
        answer = self.run(submit, new, self.now)
        if any(one.thread_id == thread and one.outcome is None for one in self.jobs.values()):
            assert isinstance(answer, NotEligible)
            return
        deadline = None if deadline_s is None else self.now + deadline_s
        job = self.jobs[job_id] = ModelJob(job_id, thread, queue, deadline, new.after, policy)
        self.touch(job)
        assert (answer.job_id, answer.deadline) == (job_id, deadline)

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), same=st.booleans())
    def submit_again(self, job: ModelJob, same: bool):
        """A known id starts nothing (R2)."""
        new = NewJob(
            agent_type="probe",
            input="{}" if same else "other",
            queue=job.queue,
            job_id=job.job_id,
            after=job.after,
            after_policy=job.after_policy,
        )
        answer = self.run(submit, new, self.now)
        assert isinstance(answer, JobExists)
        assert answer.details == {"request_matches": same}

    # The dispatcher and Dask.

    @rule(room=st.integers(0, 3), urgent_room=st.integers(0, 2))
    def deliver(self, room: int, urgent_room: int):
        held_by_dask = {
            job.job_id
            for job in self.jobs.values()
            if (job.status is Status.SUBMITTED and job.delivered) or any(not one.over for one in job.live())
        }
        independent = sorted(self.urgency(job) for job in self.backlog(dependent=False))
        if room == 0:
            sent = [
                self.urgency(job)[0]
                for job in self.jobs.values()
                if job.status is Status.SUBMITTED and job.delivered
            ]
            independent = [one for one in independent if one[0] < max(sent, default=0.0)][:urgent_room]
        chosen, _position = self.run(
            delivery.deliver,
            epoch=self.epoch,
            room=room,
            pending=held_by_dask,
            urgent_room=urgent_room,
            now=self.now,
        )
        going = [self.jobs[one.job_id] for one in chosen]
        first = [self.urgency(job) for job in going if not job.after]
        assert first == independent[: room or urgent_room]
        ready = held_by_dask | {job.job_id for job in going}
        for job in self.backlog(dependent=True):
            assert (job in going) == (self.unfinished_before(job) <= ready)
        for job, one in zip(going, chosen, strict=True):
            assert one.fence == job.fence
            assert set(one.predecessors) == self.unfinished_before(job)
            job.delivered = True
        self.deliveries += chosen
        self.touch(*going)

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"))
    def dask_drops_a_key(self, job: ModelJob):
        """Forgotten by Dask, or cancelled by a foreign client: that says nothing about the job."""
        self.run(delivery.take_back, [job.job_id])
        if job.status is Status.SUBMITTED:
            job.delivered = False
            self.touch(job)

    @precondition(lambda self: self.deliveries and self.workers)
    @rule(one=among("recent_deliveries"), worker=among("all_workers"))
    def claim(self, one: Delivery, worker: str):
        """Also a second delivery of the same, a re-run by Dask, or one from an epoch that is over."""
        self.claim_delivery(one, worker)

    def recent_deliveries(self) -> list[Delivery]:
        return self.deliveries[:-9:-1]

    def all_workers(self) -> list[str]:
        return self.workers

    def claim_delivery(self, one: Delivery, worker: str) -> Execution | None:
        job = self.jobs[one.job_id]
        claim = self.run(
            execution.claim, one.job_id, one.fence, worker=worker, pid=1, epoch=self.epoch, now=self.now
        )
        if job.status is not Status.SUBMITTED or one.fence != job.fence or job.held:
            assert claim is None
            return None
        self.touch(job)
        before = [self.jobs[name] for name in job.after]
        if job.overdue(self.now):
            job.expire()
        elif job.after_policy == "succeeded" and any(p.outcome not in {None, "succeeded"} for p in before):
            job.move(Status.FAILURE, "failed", new_fence=False)
        elif self.unfinished_before(job) or job.live():
            job.delivered = False
        else:
            assert claim is not None
            started = job.start(claim, self.now)
            assert (claim.attempt, claim.fence) == (len(job.executions), job.fence)
            assert claim.admission.deadline == job.deadline
            assert claim.predecessors == {p.job_id: p.output or {} for p in before}
            return started
        assert claim is None
        return None

    # Executions: everything they write carries their claim.

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"), count=st.integers(1, 3))
    def record(self, one: Execution, count: int):
        told = [notices.notice("log", self.now, f"step {number}") for number in range(count)]
        self.owned_write(one, execution.record, one.claim, told, self.now, stage="node")

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def complete_stage(self, one: Execution):
        """As the saver does it: the evidence, the events and the fence in one transaction (R20)."""
        job = self.jobs[one.job_id]
        began = min(self.now, one.deadline or self.now)  # a worker begins none past the deadline (R8)
        number = job.stages + 1
        run = StageRun(
            job.job_id,
            "node",
            number,
            one.claim.attempt,
            1,
            began,
            self.now,
            f"checkpoint-{number}",
            "hash",
        )

        def save(tx) -> None:
            execution.save_stages(tx, [run])
            execution.record(tx, one.claim, (), self.now, stages_done=number)

        if self.owned_write(one, save):
            job.stages = number

    def owned_write(self, one: Execution, write: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """A write that only the job's present owner may do (R14)."""
        job = self.jobs[one.job_id]
        answer = self.run_write(write, *args, **kwargs)
        owned = job.owned_by(one)
        assert isinstance(answer, JobStopped) == (not owned), f"{one.claim} wrote to {job}"
        if owned:
            self.touch(job)
        return owned

    def run_write(self, write: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.run(write, *args, **kwargs)

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def beat(self, one: Execution):
        """The heart's look: it renews, and hears of a grant."""
        job = self.jobs[one.job_id]
        self.run(execution.renew, one.claim, self.now)
        if not one.ended:
            one.heartbeat_at = self.now
            self.touch(job)
        if job.owned_by(one):
            one.deadline = job.deadline

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def succeed(self, one: Execution):
        self.succeed_execution(one)

    def succeed_execution(self, one: Execution) -> None:
        job = self.jobs[one.job_id]
        owned, was_live = job.owned_by(one), not one.ended
        output = {"report": f"by attempt {one.claim.attempt}", "data": None}
        assert self.run(execution.succeed, one.claim, output, (), self.now) is owned
        if owned:
            job.move(Status.SUCCESS, "succeeded", new_fence=False)
            job.output = output
        self.over(one, job, touches=owned or was_live)

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def fail(self, one: Execution):
        job = self.jobs[one.job_id]
        owned, was_live = job.owned_by(one), not one.ended
        assert self.run(execution.fail, one.claim, "it raised", "ValueError", (), self.now) is owned
        if owned:
            job.move(Status.FAILURE, "failed", new_fence=False)
        self.over(one, job, touches=owned or was_live)

    @precondition(lambda self: self.late_threads())
    @rule(one=among("late_threads"))
    def run_out_of_time(self, one: Execution):
        """The budget as the worker knows it is used up; its thread may go on for a while (R9)."""
        job = self.jobs[one.job_id]
        due = job.owned_by(one) and job.overdue(self.now)
        assert self.run(execution.expire_running, one.claim, (), self.now) is due
        if due:
            job.expire()
            self.touch(job)

    def late_threads(self) -> list[Execution]:
        return [one for one in self.threads() if one.deadline is not None and self.now >= one.deadline]

    @precondition(lambda self: self.stopped_threads())
    @rule(one=among("stopped_threads"))
    def stop(self, one: Execution):
        """The thread of an execution that lost its job ends."""
        job, was_live = self.jobs[one.job_id], not one.ended
        if one.deadline is not None and self.now >= one.deadline:
            self.run(execution.end, one.claim, "expired", self.now)
        else:
            self.run(execution.stop, one.claim, self.now)
        self.over(one, job, touches=was_live)

    def stopped_threads(self) -> list[Execution]:
        return [
            one
            for one in self.threads()
            if not self.jobs[one.job_id].owned_by(one) or one in self.late_threads()
        ]

    def over(self, one: Execution, job: ModelJob, *, touches: bool) -> None:
        acknowledged = job.acknowledged
        job.end(one)
        if touches or job.acknowledged != acknowledged:
            self.touch(job)

    # The operator.

    def operate(self, name: str, job: ModelJob, perform: Any, *, stale: bool, allowed: bool) -> bool:
        by = operators.By("operator", self.now, "because", job.version - stale)
        answer = self.run(operators.act, name, job.job_id, perform, by)
        self.acts += 1
        done = allowed and not stale
        assert isinstance(answer, Refused) == (not done), f"{name} on {job}: {answer}"
        if done:
            self.touch(job)
        elif stale:
            assert answer.code == "changed"
        return done

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), stale=st.sampled_from([False, False, False, True]))
    def cancel(self, job: ModelJob, stale: bool):
        self.cancel_job(job, stale=stale)

    def cancel_job(self, job: ModelJob, *, stale: bool = False) -> None:
        if self.operate("cancel", job, operators.cancel, stale=stale, allowed=not job.status.terminal):
            job.cancel(self.now)

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"))
    def expire(self, job: ModelJob):
        if self.operate("expire", job, operators.expire, stale=False, allowed=not job.status.terminal):
            job.expire()

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), stale=st.sampled_from([False, False, False, True]))
    def resume(self, job: ModelJob, stale: bool):
        ended = job.status in {Status.FAILURE, Status.INTERRUPTED}
        allowed = (job.held or ended) and not job.overdue(self.now) and not self.thread_is_anothers(job)
        if self.operate("resume", job, operators.resume, stale=stale, allowed=allowed):
            job.resume()

    def thread_is_anothers(self, job: ModelJob) -> bool:
        """Live on it now, or executed on it since this job was (R20, R21)."""
        last = max((one.claim_at for one in self.starts(job)), default=None)
        return any(
            other.outcome is None or (last is not None and any(s.claim_at > last for s in self.starts(other)))
            for other in self.jobs.values()
            if other is not job and other.thread_id == job.thread_id
        )

    def starts(self, job: ModelJob) -> Iterator[Any]:
        return (SimpleNamespace(claim_at=self.started[id(one.claim)]) for one in job.executions)

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), more_s=st.sampled_from([-1.0, 5.0, 60.0]))
    def grant(self, job: ModelJob, more_s: float):
        self.grant_job(job, more_s)

    def grant_job(self, job: ModelJob, more_s: float) -> None:
        granted = self.now + more_s
        allowed = job.status is not Status.SUCCESS and job.deadline is not None
        allowed = allowed and granted > job.deadline and granted > self.now
        perform = operators.grant_until(lambda _admission, _now: granted)
        if self.operate("grant", job, perform, stale=False, allowed=allowed):
            job.deadline = granted
            job.version += 1

    @rule(queue=st.sampled_from(["one", "two"]), paused=st.booleans())
    def pause(self, queue: str, paused: bool):
        self.run(operators.set_paused, queue, paused=paused, actor="operator", reason=None, now=self.now)
        self.acts += 1
        (self.paused.add if paused else self.paused.discard)(queue)

    # Time, losses, recovery.

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 3.0, 6.0, 21.0, 120.0]))
    def time_goes_on(self, seconds: float):
        self.elapsed += seconds

    @precondition(lambda self: self.workers)
    @rule(worker=among("all_workers"))
    def lose_a_worker(self, worker: str):
        self.gone[worker] = "worker lost"
        self.workers.remove(worker)
        self.add_worker()

    @rule()
    def lose_the_scheduler(self):
        """A new epoch: its workers are ended, and what it held goes back."""
        self.gone |= dict.fromkeys(self.workers, "scheduler lost")
        self.epoch += 1
        self.workers.clear()
        for _ in range(2):
            self.add_worker()
        back = [job for job in self.jobs.values() if job.status is Status.SUBMITTED and job.delivered]
        assert self.run(delivery.take_back_other_epochs, self.epoch) == len(back)
        for job in back:
            job.delivered = False
        self.touch(*back)

    @rule()
    def recover(self):
        self.reach_rest()

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), what=st.sampled_from(["cancel", "grant", "succeed"]))
    def recover_while_something_happens(self, job: ModelJob, what: str):
        """The plan was made before, its actions come after: what changed is skipped (R18)."""
        threads = [one for one in self.threads() if one.job_id == job.job_id]
        if what == "cancel":
            self.writer.meanwhile = lambda: self.cancel_job(job)
        elif what == "grant":
            self.writer.meanwhile = lambda: self.grant_job(job, 60.0)
        elif threads:
            self.writer.meanwhile = lambda: self.succeed_execution(threads[-1])
        self.reach_rest()

    @rule()
    def recover_while_another_takes_over(self):
        """The lease is lost between the plan and its first action: nothing of it is done (R17)."""
        self.writer.meanwhile = self.another_takes_the_lease
        self.reach_rest()

    def another_takes_the_lease(self) -> None:
        self.elapsed += self.settings.lease_ttl_s
        ttl = self.settings.lease_ttl_s
        assert self.run(leases.acquire, ROLE, "elsewhere:1", self.now, ttl, is_gone=lambda _owner: False)
        self.other_holds_lease_until = self.now + ttl

    def reach_rest(self) -> None:
        """Passes until one changes nothing; then the plan is carried out."""
        for _ in range(PASSES_MAX):
            before = self.commits()
            self.runner.run(self.reaper.run_once())
            if self.commits() == before:
                break
        else:
            raise AssertionError("recovery finds something to do for ever")
        self.writer.meanwhile = None
        if self.now >= self.other_holds_lease_until:
            for job in self.jobs.values():
                if list(job.recover(self.now, self.bounds, self.gone)):
                    self.touch(job)

    # Readers.

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), limit=st.integers(1, 5))
    def read_the_log(self, job: ModelJob, limit: int):
        """From where this reader was: no event twice, none left out (R27)."""
        self.read(job.job_id, limit)

    def read(self, job_id: str, limit: int) -> int:
        heard = self.heard.setdefault(job_id, [])
        new = events.read_after(self.look, job_id, len(heard), limit)
        self.look.rollback()
        assert [one.seq for one in new] == list(range(len(heard) + 1, len(heard) + 1 + len(new)))
        heard += [(one.seq, one.type, one.status) for one in new]
        return len(new)

    @rule(limit=st.integers(1, 20))
    def read_the_feed(self, limit: int):
        self.follow(limit)

    def follow(self, limit: int) -> int:
        new = events.read_feed(self.look, self.position, limit)
        self.look.rollback()
        for one in new:
            assert one.position > self.position
            self.position = one.position
            self.fed.setdefault(one.job_id, []).append(one.seq)
        return len(new)

    # What must hold.

    @initialize()
    def begin(self):
        self.started: dict[int, float] = {}

    @invariant()
    def jobs_are_what_the_model_says(self):
        global taken
        taken += 1
        rows = self.read_rows()
        assert rows.keys() == self.jobs.keys()
        for job_id, row in rows.items():
            job = self.jobs[job_id]
            for one in job.executions:
                self.started.setdefault(id(one.claim), self.now)
            if job_id not in self.touched:
                unchanged = {**self.rows[job_id], "dispatch_deadline": row["dispatch_deadline"]}
                assert row == unchanged, f"the step was not about {job_id}"
            assert self.seen(row) == self.expected(job)
            if job.status in {Status.SUBMITTED, Status.RUNNING}:
                for name in job.after:
                    assert rows[name]["dispatch_deadline"] <= row["dispatch_deadline"]
            assert row["dispatch_deadline"] <= (NO_DEADLINE if job.deadline is None else job.deadline)
        self.rows = rows
        self.touched.clear()
        self.elapsed += 0.001

    def read_rows(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for table in TABLES:
            for row in self.look.execute(text(f"SELECT * FROM {table}")).mappings():
                if table in {"jobs", "admissions"}:
                    found.setdefault(row["job_id"], {"attempts": [], "stages": []}).update(row)
                else:
                    found[row["job_id"]][table].append(dict(row))
        audited = self.look.execute(text("SELECT count(*) FROM audit")).scalar_one()
        self.look.rollback()
        assert audited == self.acts
        return found

    def seen(self, row: dict[str, Any]) -> dict[str, Any]:
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

    def expected(self, job: ModelJob) -> dict[str, Any]:
        return {
            "status": job.status,
            "outcome": job.outcome,
            "held": job.held,
            "delivered": job.status is Status.SUBMITTED and job.delivered,
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

    def bring_all_to_an_end(self) -> None:
        """Whatever happened before: each accepted job ends with an outcome, or waits for a person (I1, I18)."""
        self.gone |= dict.fromkeys(self.workers, "worker lost")
        self.add_worker()
        self.workers = self.workers[-1:]
        self.elapsed += 2 * self.settings.lease_ttl_s
        for queue in ("one", "two"):
            self.pause(queue, False)
        self.recover()
        self.lose_the_scheduler()
        self.jobs_are_what_the_model_says()
        for _ in range(len(self.jobs) + 1):
            known = len(self.deliveries)
            self.deliver(1000, 0)
            for one in self.deliveries[known:]:
                started = self.claim_delivery(one, self.workers[0])
                if started is not None:
                    self.succeed_execution(started)
            self.jobs_are_what_the_model_says()
        for job in self.jobs.values():
            assert job.outcome is not None or self.waits_for_a_person(job)

    def waits_for_a_person(self, job: ModelJob) -> bool:
        return job.held or any(
            self.waits_for_a_person(self.jobs[name]) for name in self.unfinished_before(job)
        )

    def check_the_whole_log(self) -> None:
        while self.follow(100):
            continue
        for job in self.jobs.values():
            while self.read(job.job_id, 100):
                continue
            heard = self.heard[job.job_id]
            assert self.fed[job.job_id] == [seq for seq, _type, _status in heard]
            assert len(heard) == self.rows[job.job_id]["event_seq"]
            told = [status for _seq, _type, status in heard if status is not None]
            assert told[-1] == job.status


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Iterator[None]:
    """A clock that goes only when told, one event loop for all passes, an empty database to copy."""
    monkeypatch.setattr(clock, "time", clock.time)
    CommandMachine.template = empty_database
    with asyncio.Runner() as CommandMachine.runner:
        yield


def test_the_commands_do_what_the_model_says(runs: None) -> None:
    settings_ = settings(
        max_examples=max(1, STEPS // STEPS_A_RUN),
        stateful_step_count=STEPS_A_RUN,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(CommandMachine, settings=settings_)
    assert taken >= STEPS
