"""What the backend tells, as immutable values.

Every string in here has been through ``text.sanitise`` once, when it was decoded: nothing beyond this module
needs to distrust it. Times are Unix seconds (UTC) unless a name says otherwise; durations are seconds.
What changes with time alone does not count when two overviews are compared.

Most are named tuples: every command makes these classes anew, and a data class costs eight times as much.
``Job`` is one because its fields are read faster, a hundred thousand times for a filter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .artifacts import Artifact
    from .recovery import Recovery
    from .storage import StorageState


STATES = (
    "backlog",
    "waiting",
    "queued",
    "assigned",
    "running",
    "held",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
)
FINISHED = frozenset({"succeeded", "failed", "cancelled", "expired"})


@dataclass(slots=True)
class Job:
    """One row of the job list. Not frozen, yet nobody writes to one: frozen, it would take three times as long to
    make, and there can be a thousand a second."""

    job_id: str
    queue: str
    workflow: str
    state: str
    status: str
    outcome: str | None
    reason: str | None
    deadline: float | None
    predicted_finish: float | None
    slack: float | None
    priority: int
    attempt: int
    epoch: int | None
    worker: str | None
    stage: str | None
    stages_done: int
    stages_total: int | None
    heartbeat_age: float | None
    version: int
    accepted_at: float
    started_at: float | None
    finished_at: float | None
    cancel_requested_at: float | None
    cancel_acknowledged_at: float | None
    slot_taken: bool
    after: tuple[str, ...]
    thread_id: str
    note: str | None
    error: str | None
    owner: str | None = None

    @property
    def finished(self) -> bool:
        """Whether an outcome is on record."""
        return self.state in FINISHED

    @property
    def cancelling(self) -> bool:
        """Whether a cancel waits for a thread that goes on; one that ended without a word has nothing to say any
        more."""
        unanswered = self.cancel_requested_at is not None and self.cancel_acknowledged_at is None
        return unanswered and self.slot_taken


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The Dask scheduler as the backend's supervisor sees it."""

    state: str
    address: str | None
    epoch: int
    id: str | None
    seen_age: float | None = field(compare=False)
    dashboard_url: str | None
    problem: str | None = None
    """Why there is none."""
    unfit: tuple[tuple[str, str], ...] = ()
    """Workers that get no jobs, by name, and why."""


@dataclass(frozen=True, slots=True)
class Overview:
    """One snapshot of the whole; ``counts`` is keyed by state, plus ``overdue`` and ``at_risk``."""

    at: float = field(compare=False)
    scheduler: Scheduler
    workers: int
    slots_total: int
    slots_taken: int
    counts: Mapping[str, int]
    delivered: int
    drain_seconds: float | None = field(compare=False)
    paused: tuple[str, ...]
    drills_allowed: bool
    read_only: bool
    storage: "StorageState"
    recovery: "Recovery | None" = None
    streams: int = 0
    """Readers that are connected now: decks, and those of single jobs."""


class Event(NamedTuple):
    """One stored event of one job."""

    job_id: str
    seq: int
    type: str
    at: float | None
    name: str | None
    payload: Mapping[str, object]


class Stage(NamedTuple):
    """Evidence that a stage completed."""

    node: str
    step: int
    attempt: int
    pid: int
    started_at: float
    completed_at: float
    checkpoint_id: str
    output_hash: str


class Attempt(NamedTuple):
    """One execution of a job by a worker."""

    attempt: int
    fence: int
    worker: str
    pid: int
    epoch: int
    started_at: float
    heartbeat_at: float
    ended_at: float | None
    end_reason: str | None
    late_result: str | None = None
    """The beginning of a result that came after the job was taken away, of ``late_result_chars``."""
    late_result_chars: int | None = None
    traceback: str | None = None


class Transition(NamedTuple):
    """One change of a job's status."""

    at: float
    from_status: str | None
    to_status: str
    fence: int
    name: str
    actor: str
    reason: str | None


class Notification(NamedTuple):
    """The newest thing the job's caller was to be told; ``target`` is the receiver's origin."""

    id: str
    event: str
    target: str
    state: str
    attempts: int
    next_at: float | None
    last_error: str | None
    delivered_at: float | None


class Effect(NamedTuple):
    """An action on the outside world; ``request`` and ``outcome`` are JSON, or its beginning, as one line."""

    key: str
    name: str
    node: str
    step: int
    policy: str
    state: str
    request: str
    attempt: int
    intents: int
    intent_at: float
    settled_at: float | None
    settled_by: str | None
    outcome: str | None
    proof: str | None


class JobDetail(NamedTuple):
    """Everything known about one job."""

    job: Job
    request: Mapping[str, object]
    transitions: tuple[Transition, ...]
    attempts: tuple[Attempt, ...]
    stages: tuple[Stage, ...]
    effects: tuple[Effect, ...]
    notification: Notification | None
    why_code: str
    why_text: str
    artifacts: "tuple[Artifact, ...]" = ()


class DaskWorker(NamedTuple):
    """One worker in Dask's own words."""

    name: str
    address: str | None
    pid: int | None
    threads: int
    executing: int
    ready: int
    memory_bytes: int
    last_seen_age: float | None
    state: str = "running"
    """In the backend's words: starting, running, draining, drained, paused, restarting."""


class DaskPicture(NamedTuple):
    """What Dask's own dashboard says (``/metrics`` and ``/json/identity.json``), read by the deck itself.

    A busy Dask cannot always describe itself: then ``scheduler_id`` is empty, or there are no ``workers``.
    """

    scheduler_id: str
    tasks: Mapping[str, int]
    workers: tuple[DaskWorker, ...]
    read_at: float


class Disagreement(NamedTuple):
    """One difference between Dask's picture and the records, as the backend lists it."""

    kind: str
    job_id: str
    text: str
    seconds: float


class Cluster(NamedTuple):
    """The backend's own view of the cluster."""

    scheduler: Mapping[str, object]
    workers: tuple[DaskWorker, ...]
    tasks: Mapping[str, int]
    disagreements: tuple[Disagreement, ...]


class Queue(NamedTuple):
    """One queue."""

    name: str
    paused: bool
    paused_by: str | None
    depth: Mapping[str, int]
    oldest_age: float | None
    p50: float | None
    p95: float | None
    done_per_minute: float
    at_risk: int
    jobs: int | None = None
    """How many it has or had; None where the server does not say."""


class JobPage(NamedTuple):
    """A page of the job list; ``unreadable`` counts rows that could not be decoded."""

    jobs: tuple[Job, ...]
    total: int
    matching: int
    next: str | None
    unreadable: int


class AuditRow(NamedTuple):
    """One operator's act as the server recorded it, refused ones too."""

    id: int
    at: float
    actor: str
    act: str
    job_id: str | None
    version: int | None
    reason: str | None
    result: str


class Workflow(NamedTuple):
    """A workflow that jobs can name."""

    name: str
    description: str
    stages: tuple[str, ...]


class Report(NamedTuple):
    """A job's report as far as it is there."""

    job_id: str
    has_report: bool
    text: str | None


class Submitted(NamedTuple):
    """The answer to an accepted job."""

    job_id: str
    workflow: str
    created_at: float
    deadline: float | None
