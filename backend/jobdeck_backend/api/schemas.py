"""What the operations API accepts and answers; the jobs API has its own in ``jobs_schemas``.

Times are ISO 8601 UTC strings; durations and ages are numbers of seconds. The jobs API (``/v1/jobs/async``)
writes ``+00:00``, the operations API (``/v1/ops``) writes ``Z``: each keeps its own contract.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from jobdeck_backend.api.recovery_schemas import Recovery

State = Literal[
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
]
Status = Literal["submitted", "running", "success", "failure", "interrupted"]
Outcome = Literal["succeeded", "failed", "cancelled", "expired"]
Number = Annotated[int, Field(ge=0, le=10**18)]
"""A version, an id or a place in the log: no larger than a database holds."""


class JobRow(BaseModel):
    """One job as the operator sees it."""

    job_id: str
    queue: str
    workflow: str
    owner: str | None
    state: State
    status: Status
    outcome: Outcome | None
    reason: str | None = Field(description="why it ended, is held or was recovered")
    deadline: str | None
    left: float | None = Field(description="seconds to the deadline, negative when over")
    predicted_finish: str | None
    slack: float | None = Field(description="deadline minus predicted finish, seconds")
    priority: int
    attempt: int
    epoch: int | None = Field(description="scheduler epoch of the current attempt")
    worker: str | None
    stage: str | None
    stages_done: int
    stages_total: int | None
    heartbeat_age: float | None
    progress_age: float | None
    version: int
    accepted_at: str
    started_at: str | None
    finished_at: str | None
    cancel_requested_at: str | None
    cancel_acknowledged_at: str | None
    slot_taken: bool = Field(description="a thread still runs an attempt of this job")
    after: list[str]
    thread_id: str
    note: str | None
    error: str | None


class JobPage(BaseModel):
    """A page of rows; ``next`` is the cursor of the page after it."""

    jobs: list[JobRow]
    total: int
    matching: int
    next: str | None


class Why(BaseModel):
    """Why a job is where it is, in words and in data."""

    code: Literal[
        "backlog",
        "dependency",
        "paused",
        "queued",
        "assigned",
        "running",
        "lost",
        "cancelling",
        "no_worker",
        "scheduler_lost",
        "held",
        "finished",
    ]
    text: str
    data: dict[str, Any]


class Transition(BaseModel):
    """One change of a job's status."""

    at: str
    from_status: Status | None
    to_status: Status
    fence: int
    name: str
    actor: str
    reason: str | None


class Attempt(BaseModel):
    """One execution of a job by a worker."""

    attempt: int
    fence: int
    worker: str
    pid: int
    epoch: int
    started_at: str
    heartbeat_at: str
    ended_at: str | None
    end_reason: str | None
    late_result: str | None = Field(
        description="the beginning of a result that came after the job was taken away: kept aside"
    )
    late_result_chars: int | None
    traceback: str | None = Field(description="where it failed, without anybody's values")


class Stage(BaseModel):
    """Evidence that one run of a graph node completed; ``output_hash`` is the sha256 of its output."""

    node: str
    step: int
    attempt: int
    pid: int
    started_at: str
    completed_at: str
    checkpoint_id: str
    output_hash: str


class Effect(BaseModel):
    """An action on the outside world, by its intent and what became of it; ``key`` names no attempt."""

    key: str
    name: str
    node: str
    step: int
    policy: Literal["repeatable", "idempotent", "probe", "manual"]
    state: Literal["intent", "confirmed", "failed", "uncertain", "happened", "not_happened", "retry"]
    request: Any = Field(description="what was about to be asked; a long one as the beginning of its text")
    attempt: int = Field(description="the attempt of the newest intent")
    intents: int = Field(description="how often the call was about to be made")
    intent_at: str
    settled_at: str | None
    settled_by: str | None
    outcome: Any = Field(description="what the call answered; a long one as the beginning of its text")
    proof: str | None


class Notification(BaseModel):
    """The newest thing the job's caller was to be told; ``target`` is the receiver without path and query."""

    id: str = Field(description="the X-Jobdeck-Delivery of every attempt")
    event: Literal["succeeded", "failed", "cancelled", "expired", "held"]
    target: str
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    created_at: str
    next_at: str | None = Field(
        description="the next attempt; of one under way, when it is over at the latest"
    )
    last_error: str | None
    delivered_at: str | None


class Artifact(BaseModel):
    """A file the job left behind; ``removed_at`` is when its bytes were removed, their time being over."""

    artifact_id: str
    filename: str
    kind: str
    mime_type: str
    size_bytes: int
    sha256: str
    title: str | None
    caption: str | None
    attempt: int
    created_at: str
    removed_at: str | None
    content_url: str


class JobDetail(BaseModel):
    """Everything known about one job."""

    job: JobRow
    request: dict[str, Any]
    transitions: list[Transition]
    attempts: list[Attempt]
    stages: list[Stage]
    effects: list[Effect]
    artifacts: list[Artifact]
    notification: Notification | None
    why: Why


class SchedulerView(BaseModel):
    """The scheduler as its supervisor sees it; ``seen_age`` is seconds since it last answered."""

    state: Literal["up", "suspect", "lost", "starting", "external"]
    address: str | None
    epoch: int
    id: str | None
    seen_age: float | None
    dashboard_url: str | None
    problem: str | None = Field(description="why there is no scheduler")
    unfit: dict[str, str] = Field(description="workers that get no jobs, and why")


class StorageState(BaseModel):
    """Whether the database takes jobs; while it does not, why."""

    state: str = Field(description="`ok`, or the code that a refused submit gets")
    reason: str | None


class Overview(BaseModel):
    """One snapshot for the deck's header; ``counts`` has every state plus overdue and at_risk."""

    at: str
    scheduler: SchedulerView
    workers: int
    slots: dict[Literal["total", "taken"], int]
    counts: dict[str, int]
    delivered: int = Field(description="jobs the records say Dask holds: waiting, queued or assigned")
    service_times: dict[str, dict[str, float]]
    recovery: Recovery
    streams: dict[str, Any]
    drain_seconds: float | None
    paused: list[str]
    drills_allowed: bool
    read_only: bool
    storage: StorageState


class QueueView(BaseModel):
    """One queue: how deep, how old, how fast."""

    name: str
    paused: bool
    paused_by: str | None
    depth: dict[str, int]
    oldest_age: float | None
    p50: float | None
    p95: float | None
    done_per_minute: float
    at_risk: int
    jobs: int
    """How many it has or had, those not kept any more left out."""


class Queues(BaseModel):
    """Every queue that has or had jobs, or is paused."""

    queues: list[QueueView]


class WorkerView(BaseModel):
    """One worker process as Dask reports it."""

    name: str
    address: str | None
    pid: int | None
    threads: int
    executing: int
    ready: int
    memory: int
    last_seen: float | None
    state: Literal["starting", "running", "draining", "drained", "paused", "restarting"]
    problem: str | None = Field(description="why it gets no jobs")


class Disagreement(BaseModel):
    """One difference between Dask's picture and the records."""

    kind: Literal["delivered_unknown_to_dask", "running_unknown_to_dask", "unknown_to_records"]
    job_id: str
    text: str
    seconds: float


class Cluster(BaseModel):
    """Dask's own picture, with the processes behind it and where the records differ."""

    scheduler: dict[str, Any]
    workers: list[WorkerView]
    tasks: dict[str, int]
    disagreements: list[Disagreement]


class WorkflowView(BaseModel):
    """A workflow that jobs can name."""

    name: str
    description: str
    public: bool
    origin: str | None = Field(description="the file or package that a user's own one comes from")
    stages: list[str]
    artifacts: bool = Field(description="whether it leaves files behind")
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


class BrokenWorkflow(BaseModel):
    """A user's own workflow that cannot be used, and why."""

    name: str
    origin: str
    problem: str


class Workflows(BaseModel):
    """All workflows."""

    workflows: list[WorkflowView]
    broken: list[BrokenWorkflow]


class Act(BaseModel):
    """What every operator's act may carry."""

    model_config = ConfigDict(extra="ignore")
    reason: str | None = Field(default=None, max_length=1000)
    version: Number | None = None


class Verdict(Act):
    """What a person found out about an uncertain effect; that it happened needs a proof."""

    verdict: Literal["happened", "not_happened", "retry"]
    proof: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)] | None = (
        Field(default=None, description="such as the provider's own number")
    )

    @model_validator(mode="after")
    def _proven(self) -> Self:
        if self.verdict == "happened" and self.proof is None:
            raise ValueError("that an effect happened needs a proof, such as the provider's own number")
        return self


class Grant(Act):
    """A later window: an absolute deadline or seconds from the present one (or from now when it passed)."""

    deadline: str | None = None
    extend_seconds: float | None = Field(default=None, gt=0, le=31_536_000)


class AuditRow(BaseModel):
    """One act: who, what, on which version, why, and what came of it."""

    id: int
    at: str
    actor: str
    act: str
    job_id: str | None
    version: int | None
    reason: str | None
    result: str


class Audit(BaseModel):
    """Acts in the order asked for; ``next`` is the next page's ``after`` (newest first: ``before``)."""

    acts: list[AuditRow]
    next: int | None
