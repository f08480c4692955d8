"""The real commands and the real reaper on a real database, step by step beside a tiny model of them.

After each step every job must be what the model says, and every row of a job that the step was not about must
be as it was. After each run all that is unfinished can still be brought to its end, every reader has the whole
log, and the records pass ``fsck``.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test
from jobdeck_backend import clock
from jobdeck_backend.commands import delivery, execution, notices, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import JobExists, JobStopped, NotEligible, Refused
from jobdeck_backend.jobs.records import Delivery, StageRun, Status
from jobdeck_backend.recovery.reaper import ROLE
from jobdeck_backend.store import leases
from job_model import Execution, ModelJob
from stand import Stand

STEPS = int(os.environ.get("JOBDECK_MODEL_STEPS", "4000"))
STEPS_A_RUN = 100
JOBS_MAX = 8
PASSES_MAX = 6


def among(name: str) -> st.SearchStrategy[Any]:
    """One of what the machine's method ``name`` answers now, if there is any."""

    def choose(machine: Stand) -> st.SearchStrategy[Any]:
        return st.sampled_from(getattr(machine, name)() or machine.all_jobs())

    return st.runner().flatmap(choose)


def some_jobs(machine: Stand) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(sorted(machine.jobs)), max_size=2) if machine.jobs else st.just(set())


SELDOM = st.sampled_from([False, False, False, True])
SECONDS = st.sampled_from([None, None, None, 300.0, 300.0, 30.0, 6.0, 2.0])


class CommandMachine(Stand):
    """Everything that may happen to jobs, in any order."""

    @initialize(deadlines_s=st.lists(SECONDS, min_size=1, max_size=3))
    def begin(self, deadlines_s: list[float | None]):
        for _ in range(2):
            self.add_worker()
        for deadline_s in deadlines_s:
            self.accept(deadline_s)

    @invariant()
    def all_is_as_the_model_says(self):
        self.compare()

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.bring_all_to_an_end()
                self.check_the_whole_log()
        finally:
            super().teardown()

    def add_worker(self) -> None:
        self.born += 1
        self.workers.append(f"w{self.born}-e{self.epoch}")

    # Callers.

    @precondition(lambda self: len(self.jobs) < JOBS_MAX)
    @rule(
        deadline_s=SECONDS,
        after=st.runner().flatmap(some_jobs),
        policy=st.sampled_from(["succeeded", "finished"]),
        queue=st.sampled_from(["one", "one", "two"]),
        anothers_thread=SELDOM,
        data=st.data(),
    )
    def submit(self, deadline_s, after, policy, queue, anothers_thread, data):
        threads = sorted({one.thread_id for one in self.jobs.values()})
        thread = data.draw(st.sampled_from(threads)) if anothers_thread and threads else None
        self.accept(deadline_s, thread, after=tuple(sorted(after)), after_policy=policy, queue=queue)

    def accept(self, deadline_s: float | None, thread: str | None = None, **fields: Any) -> None:
        """A thread takes one unfinished job; another is refused and nothing of it stored (R21)."""
        job_id = f"job-{len(self.jobs) + 1}"
        fields = {"queue": "one", "after": (), "after_policy": "succeeded", **fields}
        known = {"agent_type": "probe", "input": "{}", "job_id": job_id, "thread_id": thread}
        answer = self.run(submit, NewJob(**known, **fields, deadline_seconds=deadline_s), self.now)
        if any(one.thread_id == thread and one.outcome is None for one in self.jobs.values()):
            assert isinstance(answer, NotEligible)
            return
        deadline = None if deadline_s is None else self.now + deadline_s
        job = self.jobs[job_id] = ModelJob(job_id, thread or job_id, deadline=deadline, **fields)
        self.touch(job)
        assert (answer.job_id, answer.deadline) == (job_id, deadline)

    def submit_again(self, job: ModelJob) -> None:
        """A known id starts nothing (R2)."""
        for text, same in (("{}", True), ("other", False)):
            new = NewJob("probe", text, job.queue, job.job_id, after=job.after, after_policy=job.after_policy)
            answer = self.run(submit, new, self.now)
            assert isinstance(answer, JobExists)
            assert answer.details == {"request_matches": same}

    # The dispatcher and Dask.

    @rule(room=st.integers(0, 3), urgent_room=st.integers(0, 2))
    def deliver(self, room: int, urgent_room: int):
        in_dask = {job.job_id for job in self.jobs.values() if job.status is Status.RUNNING or job.delivered}
        ready = sorted(self.urgency(job) for job in self.backlog(dependent=False))
        if room == 0:
            least = max((self.urgency(job)[0] for job in self.delivered()), default=0.0)
            ready = [one for one in ready if one[0] < least]
        limits = {"room": room, "urgent_room": urgent_room}
        chosen, _position = self.run(
            delivery.deliver, epoch=self.epoch, pending=in_dask, now=self.now, **limits
        )
        going = [self.jobs[one.job_id] for one in chosen]
        assert [self.urgency(job) for job in going if not job.after] == ready[: room or urgent_room]
        for job in self.backlog(dependent=True):
            can_go = self.unfinished_before(job) <= in_dask | {one.job_id for one in going}
            assert (job in going) == can_go, f"{job} after {job.after}: {chosen}"
        for job, one in zip(going, chosen, strict=True):
            assert (one.fence, set(one.predecessors)) == (job.fence, self.unfinished_before(job))
            job.delivered = True
        self.deliveries += chosen
        self.touch(*going)

    @rule(worker=among("all_workers"))
    def deliver_and_claim(self, worker: str):
        """As it goes when nothing goes wrong."""
        known = len(self.deliveries)
        self.deliver(2, 0)
        for one in self.deliveries[known:]:
            self.claim_delivered(one, worker)

    @precondition(lambda self: self.deliveries)
    @rule(one=among("recent_deliveries"), worker=among("all_workers"))
    def claim(self, one: Delivery, worker: str):
        """Also a second delivery of the same, a re-run by Dask, or one from an epoch that is over."""
        self.claim_delivered(one, worker)

    def claim_delivered(self, one: Delivery, worker: str) -> Execution | None:
        job = self.jobs[one.job_id]
        where = {"worker": worker, "pid": 1, "epoch": self.epoch}
        claim = self.run(execution.claim, one.job_id, one.fence, **where, now=self.now)
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

    # Executions: what they write carries their claim.

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def record(self, one: Execution):
        told = [notices.notice("log", self.now, f"step {number}") for number in range(2)]
        self.write_as_owner(one, execution.record, one.claim, told, self.now, stage="node")

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def complete_stage(self, one: Execution):
        """As the saver does it: the evidence, the progress and the fence in one transaction (R20)."""
        job, at = self.jobs[one.job_id], self.now
        number = job.stages + 1
        run = StageRun(job.job_id, "node", number, one.claim.attempt, 1, at, at, f"checkpoint-{number}", "hash")

        def save(tx) -> None:
            execution.save_stages(tx, [run])
            execution.record(tx, one.claim, (), at, stages_done=number)

        job.stages += self.write_as_owner(one, save)

    def write_as_owner(self, one: Execution, write: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """A write that only the job's present owner may do (R14)."""
        job = self.jobs[one.job_id]
        answer = self.run(write, *args, **kwargs)
        assert isinstance(answer, JobStopped) != job.owned_by(one), f"{one.claim} wrote to {job}"
        if job.owned_by(one):
            self.touch(job)
        return job.owned_by(one)

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"))
    def beat(self, one: Execution):
        """The heart's look: it renews, and hears of a grant (R24)."""
        job = self.jobs[one.job_id]
        self.run(execution.renew, one.claim, self.now)
        if not one.ended:
            one.heartbeat_at = self.now
            self.touch(job)
        if job.owned_by(one):
            one.deadline = job.deadline

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"), succeeds=st.booleans())
    def finish(self, one: Execution, succeeds: bool):
        """It ends in its own way, unless it was due to end otherwise before."""
        if one.deadline is not None and self.now >= one.deadline:
            self.run_out_of_time(one)
        elif succeeds:
            self.succeed(one)
        elif self.jobs[one.job_id].owned_by(one):
            self.fail(one)
        else:
            self.end(one, execution.stop, one.claim, self.now)

    def succeed(self, one: Execution) -> None:
        job = self.jobs[one.job_id]
        output = {"report": f"by attempt {one.claim.attempt}", "data": None}
        owned = job.owned_by(one)
        if owned:
            job.move(Status.SUCCESS, "succeeded", new_fence=False)
            job.output = output
        assert self.end(one, execution.succeed, one.claim, output, (), self.now) is owned

    def fail(self, one: Execution) -> None:
        job = self.jobs[one.job_id]
        owned = job.owned_by(one)
        if owned:
            job.move(Status.FAILURE, "failed", new_fence=False)
        assert self.end(one, execution.fail, one.claim, "it raised", "ValueError", (), self.now) is owned

    def run_out_of_time(self, one: Execution) -> None:
        """The budget as the worker knows it is used up: expired at once (R9); the thread ends when it does."""
        job = self.jobs[one.job_id]
        due = job.owned_by(one) and job.overdue(self.now)
        assert self.run(execution.expire_running, one.claim, (), self.now) is due
        if due:
            job.expire()
            self.touch(job)
        else:
            self.end(one, execution.end, one.claim, "expired", self.now)

    def end(self, one: Execution, command: Callable[..., Any], *args: Any) -> Any:
        job = self.jobs[one.job_id]
        answer = self.run(command, *args)
        if not one.ended:
            self.touch(job)
        job.end(one)
        return answer

    # The operator.

    def operate(self, name: str, job: ModelJob, perform: Any, *, allowed: bool, stale: bool = False) -> bool:
        by = operators.By("operator", self.now, "because", job.version - stale)
        answer = self.run(operators.act, name, job.job_id, perform, by)
        self.acts += 1
        if stale:
            assert answer.code == "changed"
            return False
        assert isinstance(answer, Refused) != allowed, f"{name} on {job}: {answer}"
        if allowed:
            self.touch(job)
        return allowed

    @precondition(lambda self: self.jobs)
    @rule(job=among("unfinished_jobs"), expires=SELDOM, stale=SELDOM)
    def cancel_or_expire(self, job: ModelJob, expires: bool, stale: bool):
        if not expires:
            self.cancel(job, stale=stale)
        elif self.operate("expire", job, operators.expire, stale=stale, allowed=not job.status.terminal):
            job.expire()

    def cancel(self, job: ModelJob, *, stale: bool = False) -> None:
        if self.operate("cancel", job, operators.cancel, stale=stale, allowed=not job.status.terminal):
            job.cancel(self.now)

    @precondition(lambda self: self.jobs)
    @rule(job=among("resumable_jobs"), stale=SELDOM)
    def resume(self, job: ModelJob, stale: bool):
        thread_is_free = not any(other.went_on_without(job) for other in self.jobs.values())
        allowed = job.resumable(self.now) and thread_is_free
        if self.operate("resume", job, operators.resume, stale=stale, allowed=allowed):
            job.resume()

    @precondition(lambda self: self.jobs)
    @rule(job=among("timed_jobs"), more_s=st.sampled_from([-1.0, 60.0, 600.0]))
    def grant(self, job: ModelJob, more_s: float):
        granted = self.now + more_s
        allowed = job.status is not Status.SUCCESS and job.deadline is not None
        allowed = allowed and granted > job.deadline and granted > self.now
        perform = operators.grant_until(lambda _admission, _now: granted)
        if self.operate("grant", job, perform, allowed=allowed):
            job.deadline = granted
            job.version += 1

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), what=st.sampled_from(["pause", "go on", "submit again", "forget"]))
    def do_something_odd(self, job: ModelJob, what: str):
        if what == "forget":
            self.forget_key(job)
        elif what == "submit again":
            self.submit_again(job)
        else:
            self.pause("two", paused=what == "pause")

    def forget_key(self, job: ModelJob) -> None:
        """Lost by Dask, or cancelled there by a foreign client: that says nothing about the job."""
        self.run(delivery.take_back, [job.job_id])
        if job.status is Status.SUBMITTED:
            job.delivered = False
            self.touch(job)

    def pause(self, queue: str, *, paused: bool) -> None:
        self.run(operators.set_paused, queue, paused=paused, actor="operator", reason=None, now=self.now)
        self.acts += 1
        (self.paused.add if paused else self.paused.discard)(queue)

    # Time, losses, recovery.

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0, 6.0, 21.0]))
    def let_time_pass(self, seconds: float):
        self.elapsed += seconds

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"), with_scheduler=SELDOM)
    def lose(self, one: Execution, with_scheduler: bool):
        """Its worker, and all that this one executes."""
        if with_scheduler:
            self.lose_scheduler()
        else:
            self.gone[one.claim.worker] = "worker lost"
            self.workers.remove(one.claim.worker)
            self.add_worker()

    def lose_scheduler(self) -> None:
        """A new epoch: the old one's workers are ended, and what it held goes back."""
        self.gone |= dict.fromkeys(self.workers, "scheduler lost")
        self.epoch += 1
        self.workers.clear()
        for _ in range(2):
            self.add_worker()
        back = self.delivered()
        assert self.run(delivery.take_back_other_epochs, self.epoch) == len(back)
        for job in back:
            job.delivered = False
        self.touch(*back)

    @rule()
    def recover(self):
        """Passes until one changes nothing; then the model's plan is carried out, and nothing else (R18)."""
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

    @precondition(lambda self: self.threads())
    @rule(one=among("threads"), what=st.sampled_from(["cancel", "grant", "succeed", "take over"]))
    def recover_while_something_happens(self, one: Execution, what: str):
        """The plan was made before, its actions come after: what changed is skipped, and planned anew."""
        job = self.jobs[one.job_id]
        self.writer.meanwhile = {
            "cancel": lambda: self.cancel(job),
            "grant": lambda: self.grant(job, 60.0),
            "succeed": lambda: self.succeed(one),
            "take over": self.another_takes_over,
        }[what]
        self.recover()

    def another_takes_over(self) -> None:
        """The lease ran out: its former owner does nothing any more (R17)."""
        ttl_s = self.settings.lease_ttl_s
        self.elapsed += ttl_s
        assert self.run(leases.acquire, ROLE, "elsewhere:1", self.now, ttl_s, is_gone=lambda _owner: False)
        self.other_holds_lease_until = self.now + ttl_s

    # Readers.

    @precondition(lambda self: self.jobs)
    @rule(job=among("all_jobs"), limit=st.integers(1, 5))
    def read_on(self, job: ModelJob, limit: int):
        self.read(job.job_id, limit)
        self.follow(limit)

    # The end of a run.

    def bring_all_to_an_end(self) -> None:
        """Whatever happened before: each accepted job ends with an outcome, or waits for a person (I1, I18)."""
        self.elapsed += 2 * self.settings.lease_ttl_s
        self.pause("two", paused=False)
        self.lose_scheduler()
        self.recover()
        self.compare()
        for _ in range(len(self.jobs) + 1):
            known = len(self.deliveries)
            self.deliver(1000, 0)
            for one in self.deliveries[known:]:
                started = self.claim_delivered(one, self.workers[0])
                if started is not None:
                    self.succeed(started)
            self.compare()
        for job in self.jobs.values():
            assert job.outcome is not None or self.waits_for_a_person(job)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Iterator[None]:
    """An empty database to copy, one event loop for all of recovery's passes, and the clock put back after."""
    monkeypatch.setattr(clock, "time", clock.time)
    Stand.template = empty_database
    with asyncio.Runner() as Stand.runner:
        yield


def test_the_commands_do_what_the_model_says(prepared: None) -> None:
    runs = settings(
        max_examples=max(1, STEPS // STEPS_A_RUN),
        stateful_step_count=STEPS_A_RUN,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    run_state_machine_as_test(CommandMachine, settings=runs)
