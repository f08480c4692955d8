"""What operators may do, on the row as it is or as it was, and other people's odd doings."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from job_model import ModelJob
from jobdeck_backend.commands import delivery, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import JobExists, Refused
from jobdeck_backend.jobs.records import Status
from stand import SELDOM, Stand, among


class OperatorSteps(Stand):
    """Steps of people."""

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

    def submit_again(self, job: ModelJob) -> None:
        """A known id starts nothing (R2)."""
        for text, same in (("{}", True), ("other", False)):
            new = NewJob("probe", text, job.queue, job.job_id, after=job.after, after_policy=job.after_policy)
            answer = self.run(submit, new, self.now)
            assert isinstance(answer, JobExists)
            assert answer.details == {"request_matches": same}
