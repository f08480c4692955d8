"""What jobs must be after each step, in as few words as the design has for it: no database, no SQL, no events."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobdeck_backend.jobs.records import Claim, Status


@dataclass
class Execution:
    """A thread of a worker that executes, or once executed, a job."""

    claim: Claim
    heartbeat_at: float
    deadline: float | None
    """As the worker heard of it last."""
    over: bool = False
    """The thread has ended: it does nothing any more."""
    ended: bool = False
    """Its end is on record."""

    @property
    def job_id(self) -> str:
        return self.claim.job_id


@dataclass
class ModelJob:
    """One job. ``fence`` counts claims and takings away, ``version`` transitions and grants."""

    job_id: str
    thread_id: str
    queue: str
    deadline: float | None
    after: tuple[str, ...]
    after_policy: str
    status: Status = Status.SUBMITTED
    outcome: str | None = None
    held: bool = False
    delivered: bool = False
    fence: int = 0
    version: int = 1
    cancel_asked_at: float | None = None
    acknowledged: bool = False
    revoked: bool = False
    executions: list[Execution] = field(default_factory=list)
    losses: int = 0
    """Executions that ended with their worker, since the last resume."""
    stages: int = 0
    output: dict[str, Any] | None = None

    def overdue(self, now: float, grace_s: float = 0.0) -> bool:
        return self.deadline is not None and now >= self.deadline + grace_s

    def owned_by(self, execution: Execution) -> bool:
        return self.status is Status.RUNNING and self.fence == execution.claim.fence

    def live(self) -> list[Execution]:
        return [one for one in self.executions if not one.ended]

    # What happens to it.

    def move(self, status: Status, outcome: str | None = None, *, new_fence: bool) -> None:
        self.status, self.outcome = status, outcome
        self.version += 1
        self.fence += new_fence
        self.held = False

    def start(self, claim: Claim, now: float) -> Execution:
        self.move(Status.RUNNING, new_fence=True)
        self.executions.append(Execution(claim, now, self.deadline))
        return self.executions[-1]

    def back_to_backlog(self) -> None:
        self.move(Status.SUBMITTED, new_fence=True)
        self.delivered = False

    def expire(self) -> None:
        self.move(Status.INTERRUPTED, "expired", new_fence=True)

    def cancel(self, now: float) -> None:
        self.acknowledged = self.status is not Status.RUNNING
        self.cancel_asked_at = now
        self.move(Status.INTERRUPTED, "cancelled", new_fence=False)

    def resume(self) -> None:
        self.back_to_backlog()
        self.losses = 0
        self.cancel_asked_at, self.acknowledged, self.revoked = None, False, False

    def end(self, execution: Execution) -> None:
        """The thread is over; a cancel that waits for it, under the same fence, is acknowledged by that."""
        execution.over = execution.ended = True
        if self.outcome == "cancelled" and self.fence == execution.claim.fence:
            self.acknowledged = True

    def recover(self, now: float, bounds: "Bounds", gone: dict[str, str]) -> Iterator[str]:
        """Everything recovery does until there is nothing left to do; yields each thing's name."""
        live = next(iter(self.live()), None)
        loss = None if live is None else gone.get(live.claim.worker)
        if self.status is Status.RUNNING:
            stale = live is not None and now - live.heartbeat_at >= bounds.heartbeat_stale_s
            if self.overdue(now, bounds.expire_grace_s):
                self.expire()
                yield "expired"
            elif live is None or loss is not None or stale:
                lost_worker = live is not None and loss != "scheduler lost"
                self.losses += lost_worker
                if live is not None:
                    live.ended = True
                self.back_to_backlog()
                self.held = lost_worker and self.losses >= bounds.lost_attempts_max
                yield "held" if self.held else "requeued"
        if self.status is Status.SUBMITTED and self.overdue(now):
            self.expire()
            yield "expired"
        if live is not None and not live.ended and loss is not None:
            live.ended = True
            # What a resumed job lost of its former tries does not count against the new ones.
            self.losses += loss == "worker lost" and self.status is not Status.SUBMITTED
            yield "attempt ended"
        asked = self.cancel_asked_at
        waits = self.outcome == "cancelled" and not self.acknowledged and not self.revoked
        if waits and asked is not None and now >= asked + bounds.cancel_grace_s:
            self.revoked = True
            self.fence += 1
            yield "revoked"


@dataclass(frozen=True)
class Bounds:
    """The limits recovery goes by."""

    expire_grace_s: float
    heartbeat_stale_s: float
    cancel_grace_s: float
    lost_attempts_max: int
