"""The records as values: what was promised, what the toolkit says, who executes it.

Times are Unix seconds (UTC).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# The year 9999: a job without a deadline is dispatched after all that have one.
NO_DEADLINE = 253_402_300_799.0


class Status(StrEnum):
    """A job record's status, as both public contracts spell it."""

    SUBMITTED = "submitted"
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    INTERRUPTED = "interrupted"

    @property
    def terminal(self) -> bool:
        """Whether nothing but an operator's resume leaves this status (R13)."""
        return self in {Status.SUCCESS, Status.FAILURE, Status.INTERRUPTED}


UNFINISHED = (Status.SUBMITTED, Status.RUNNING)


class Outcome(StrEnum):
    """How an admission ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Admission:
    """The durable promise to run a job by its deadline."""

    job_id: str
    thread_id: str
    agent_type: str
    queue: str
    owner: str | None
    input: str
    request_hash: str
    data_sources: str | None
    """JSON list, None = all."""
    expiry_seconds: int
    deadline: float | None
    priority: int
    after_policy: str
    accepted_at: float
    outcome: str | None = None
    outcome_reason: str | None = None
    finished_at: float | None = None
    callback_url: str | None = None
    strict: bool = False
    """Accepted only because its deadline can be met; no later admission may change that (R12)."""
    parent_job_id: str | None = None
    """The job whose report this one edits."""

    def is_overdue(self, now: float) -> bool:
        """Whether its deadline is reached (R8)."""
        return self.deadline is not None and now >= self.deadline


@dataclass(frozen=True, slots=True)
class Job:
    """What the toolkit says of a job; ``fence`` and ``version`` guard every write to it."""

    job_id: str
    status: Status
    attempt: int
    fence: int
    version: int
    event_seq: int
    dispatch_deadline: float
    """The nearest deadline that depends on this job, its own or a dependent's; else ``NO_DEADLINE``."""
    priority: int
    accepted_at: float
    dependent: bool
    """Whether it was submitted with ``after``."""
    delivered_epoch: int | None
    """Scheduler epoch whose Dask holds it; None = backlog."""
    delivered_at: float | None
    held_reason: str | None
    worker: str | None
    error: str | None
    error_type: str | None
    output: str | None
    """JSON ``{"report", "data"}`` of a finished graph."""
    started_at: float | None
    cancel_requested_at: float | None
    cancel_acknowledged_at: float | None
    revoked_at: float | None
    """When a cancelled job's worker, for want of an acknowledgement, lost its right to write."""
    stage: str | None
    stages_done: int
    stages_total: int | None
    progress_at: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a job by a worker."""

    job_id: str
    attempt: int
    fence: int
    worker: str
    pid: int
    epoch: int
    started_at: float
    heartbeat_at: float
    ended_at: float | None = None
    end_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """What an attempt left beside the job's record; texts are cut where they were asked for shorter."""

    late_result: str | None
    """JSON of a result that came after the job was taken away: kept aside, never the job's."""
    late_result_chars: int | None
    traceback: str | None
    """Where it failed: lines of code, nobody's values."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of a job's status, as it is put on record."""

    job_id: str
    at: float
    from_status: Status | None
    to_status: Status
    name: str
    fence: int
    actor: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class StageRun:
    """Evidence: one run of a graph node that completed and whose checkpoint is saved (R20)."""

    job_id: str
    node: str
    step: int
    attempt: int
    pid: int
    started_at: float
    completed_at: float
    checkpoint_id: str
    output_hash: str


class Policy(StrEnum):
    """What may be done about an effect of which nobody knows whether it happened."""

    REPEATABLE = "repeatable"
    """Doing it again does no harm."""
    IDEMPOTENT = "idempotent"
    """The provider takes the same key twice for one: doing it again is safe."""
    PROBE = "probe"
    """The provider can be asked; the author gives the question."""
    MANUAL = "manual"
    """Only a person can tell: the job is held."""


class EffectState(StrEnum):
    """Where an effect stands; the last three are an operator's verdicts."""

    INTENT = "intent"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    """It certainly did not happen."""
    UNCERTAIN = "uncertain"
    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Effect:
    """An action on the outside world. The key never names the attempt: every attempt means the same effect."""

    key: str
    job_id: str
    name: str
    node: str
    step: int
    policy: str
    state: EffectState
    request: str
    """JSON: what is about to be asked, for the operator who must judge."""
    attempt: int
    intents: int
    """How often the call was about to be made."""
    intent_at: float
    settled_at: float | None = None
    settled_by: str | None = None
    outcome: str | None = None
    """JSON: what the call answered."""
    proof: str | None = None


class NotificationState(StrEnum):
    """Where a notification stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Its last attempt is over and nobody confirmed it."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What a job's caller is owed: one POST, sent until it is confirmed or its attempts are used up."""

    id: str
    """The same at every attempt: a receiver that had it already can tell."""
    job_id: str
    name: str
    """The transition it tells of."""
    url: str
    body: str
    """JSON, the same bytes at every attempt."""
    state: NotificationState
    attempts: int
    """How often it was about to be sent."""
    created_at: float
    next_at: float | None
    """When to try (again); None when nothing more is to be done."""
    last_error: str | None = None
    delivered_at: float | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may do something alone; ``epoch`` rises at each takeover."""

    role: str
    owner: str
    epoch: int
    acquired_at: float
    expires_at: float
    taken_from: str | None = None
    """The owner before, None for the first one."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One backend's hold on one scheduler, from its start to its loss."""

    epoch: int
    backend: str
    """Which instance: its host and state directory, of which there is one at a time."""
    owner: str
    """The process: ``host:pid``."""
    embedded: bool
    """Whether scheduler and workers are the backend's own processes, which end with it."""
    scheduler_id: str | None
    """Dask's name for the scheduler's process; None until it is up."""
    started_at: float
    seen_at: float
    ended_at: float | None = None
    workers_gone: bool = False
    """Whether what its workers run counts as lost, whatever they say."""
    end_reason: str | None = None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be appended; ``payload`` is the stored object without its type."""

    type: str
    payload: Mapping[str, Any]
    status: Status | None = None
    """Set when the event tells of a transition: streams send ``job.status`` after it."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of the log. ``position`` orders all jobs' events, ``seq`` one job's, without gaps (R26)."""

    position: int
    job_id: str
    seq: int
    type: str
    at: float
    payload: str
    """JSON text."""
    status: str | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A job about to be handed to Dask. A worker's claim must name the same ``fence``."""

    job_id: str
    fence: int
    dispatch_deadline: float
    priority: int
    predecessors: tuple[str, ...]
    """Those still unfinished: their keys become Dask dependencies."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An execution's right to write: everything it writes carries ``fence`` (R14)."""

    admission: Admission
    attempt: int
    fence: int
    worker: str
    epoch: int
    predecessors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def job_id(self) -> str:
        """The claimed job."""
        return self.admission.job_id
