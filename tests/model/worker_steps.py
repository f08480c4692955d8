"""What the dispatcher, Dask and its workers may do, in time or too late."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from job_model import Execution
from jobdeck_backend.commands import delivery, execution, notices
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.jobs.records import Delivery, StageRun, Status
from stand import Stand, among


class WorkerSteps(Stand):
    """Steps of deliveries and executions."""

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
        began = min(at, one.deadline or at)  # a worker begins none past the deadline (R8)
        number = job.stages + 1
        run = StageRun(
            job.job_id, "node", number, one.claim.attempt, 1, began, at, f"checkpoint-{number}", "hash"
        )

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
