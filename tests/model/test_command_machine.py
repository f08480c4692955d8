"""The real commands and the real reaper on a real database, step by step beside a tiny model of them.

After each step every job must be what the model says, and every row of a job that the step was not about must
be as it was. After each run all that is unfinished can still be brought to its end, every reader has the whole
log, and the records pass ``fsck``. ``JOBDECK_MODEL_STEPS`` sets how many steps are taken in all.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test
from job_model import Execution, ModelJob
from jobdeck_backend import clock
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import NotEligible
from jobdeck_backend.recovery.reaper import ROLE
from jobdeck_backend.store import dispatch, leases
from operator_steps import OperatorSteps
from stand import SELDOM, Stand, among
from worker_steps import WorkerSteps

STEPS = int(os.environ.get("JOBDECK_MODEL_STEPS", "2000"))
# Where it is enough to know whether it fails.
PHASES = [Phase.generate] if "JOBDECK_MODEL_UNSHRUNK" in os.environ else list(settings.default.phases)
STEPS_A_RUN_MAX = 100
STEPS_A_RUN = 80  # at the least, on an average: nothing may be left to do before
JOBS_MAX = 8
PASSES_MAX = 6


SECONDS = st.sampled_from([None, None, None, 300.0, 300.0, 30.0, 6.0, 2.0])


def some_jobs(machine: Stand) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(sorted(machine.jobs)), max_size=2) if machine.jobs else st.just(set())


class CommandMachine(WorkerSteps, OperatorSteps):
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
        assert self.run(dispatch.take_back_other_epochs, self.epoch) == len(back)
        for job in back:
            job.delivered = False
        self.touch(*back)

    @precondition(lambda self: self.threads())
    @rule(
        one=among("threads"),
        worker=among("all_workers"),
        late_act=st.sampled_from(["record", "complete_stage", "succeed", "fail"]),
    )
    def hang(self, one: Execution, worker: str, late_act: str):
        """Nothing is heard of it for too long: another executes its job, and then it goes on (R21, R24)."""
        self.elapsed += self.settings.heartbeat_stale_s
        self.recover()
        self.compare()
        self.deliver(3, 0)
        self.compare()
        again = [two for two in self.deliveries if two.job_id == one.job_id]
        self.claim_delivered(again[-1], worker)
        self.compare()
        getattr(self, late_act)(one)

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
    @rule(one=among("threads"), what=st.sampled_from(["beat", "cancel", "grant", "succeed", "take over"]))
    def recover_while_something_happens(self, one: Execution, what: str):
        """The plan was made before, its actions come after: what changed is skipped, and planned anew."""
        job = self.jobs[one.job_id]
        self.writer.meanwhile = {
            "beat": lambda: self.beat(one),
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


@pytest.mark.timeout(900)  # Hypothesis takes up to five minutes to find a short case of a failure
def test_the_commands_do_what_the_model_says(prepared: None) -> None:
    runs = settings(
        max_examples=max(1, STEPS // STEPS_A_RUN),
        stateful_step_count=STEPS_A_RUN_MAX,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    run_state_machine_as_test(CommandMachine, settings=runs)
