"""One job as an operator sees it: its records joined, where it is, when it should be done. Times: Unix seconds."""

from dataclasses import dataclass
from typing import NamedTuple

from jobdeck_backend.jobs.states import FINISHED, State, state_of


class JobSource(NamedTuple):
    """What the records say of one job, joined: admission, job, its newest attempt, its last recovery."""

    job_id: str
    thread_id: str
    workflow: str
    queue: str
    owner: str | None
    deadline: float | None
    priority: int
    accepted_at: float
    outcome: str | None
    outcome_reason: str | None
    finished_at: float | None
    status: str
    attempt: int
    version: int
    delivered_epoch: int | None
    held_reason: str | None
    worker: str | None
    error: str | None
    started_at: float | None
    cancel_requested_at: float | None
    cancel_acknowledged_at: float | None
    stage: str | None
    stages_done: int
    stages_total: int | None
    progress_at: float | None
    note: str | None
    epoch: int | None
    """Scheduler epoch of the newest attempt."""
    heartbeat_at: float | None
    attempt_ended_at: float | None
    recovery_reason: str | None

    @property
    def slot_taken(self) -> bool:
        """Whether a thread still executes it, as far as the records tell."""
        return self.heartbeat_at is not None and self.attempt_ended_at is None

    @property
    def cancelling(self) -> bool:
        """Whether a cancel waits for a thread that goes on; one that ended without a word has nothing to say any
        more (R16)."""
        unanswered = self.cancel_requested_at is not None and self.cancel_acknowledged_at is None
        return unanswered and self.slot_taken


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A job that another one waits for."""

    job_id: str
    status: str
    finished: bool


@dataclass(frozen=True, slots=True)
class JobView:
    """A job's records with what follows from them."""

    source: JobSource
    state: State
    predecessors: tuple[Predecessor, ...]
    predicted_finish: float | None

    @property
    def finished(self) -> bool:
        """Whether an outcome is on record."""
        return self.state in FINISHED

    @property
    def reason(self) -> str | None:
        """Why it ended, is held or was recovered."""
        if self.finished:
            return self.source.outcome_reason
        return self.source.held_reason or self.source.recovery_reason

    @property
    def slack(self) -> float | None:
        """Deadline minus predicted finish, in seconds."""
        if self.predicted_finish is None or self.source.deadline is None:
            return None
        return self.source.deadline - self.predicted_finish

    def left(self, now: float) -> float | None:
        """Seconds to the deadline, negative when over; None when finished or without one."""
        return None if self.source.deadline is None or self.finished else self.source.deadline - now


def view_of(
    source: JobSource,
    predecessors: tuple[Predecessor, ...],
    *,
    dask_state: str | None,
    predicted_finish: float | None = None,
) -> JobView:
    """A job's records with what follows from them and from Dask's state of its key (None: unknown)."""
    state = state_of(
        status=source.status,
        outcome=source.outcome,
        held=source.held_reason is not None,
        delivered=source.delivered_epoch is not None,
        blocked=any(not one.finished for one in predecessors),
        dask_state=dask_state,
    )
    return JobView(source, state, predecessors, predicted_finish)
