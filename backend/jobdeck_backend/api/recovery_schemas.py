"""What the operations API answers about recovery: the plan and what came of it, the invariants, the drills."""

from typing import Any, Literal

from pydantic import BaseModel, Field

PlannedAct = Literal[
    "leave",
    "start",
    "resume from checkpoint",
    "close from its checkpoint",
    "hold",
    "fail",
    "expire",
    "revoke",
    "end attempt",
]


class Recovery(BaseModel):
    """Who recovers, by the lease on record; all null while nobody ever did."""

    mode: Literal["auto", "manual"] = Field(description="of the server that answers")
    owner: str | None
    epoch: int | None = Field(description="rises at each takeover")
    expires_in: float | None
    acquired_at: str | None = Field(description="when the owner took it over")
    taken_from: str | None = Field(description="the owner before it")


class PlanLine(BaseModel):
    """One job: what the plan does with it, or why it leaves it."""

    job_id: str
    action: PlannedAct
    reason: str
    evidence: dict[str, Any]
    automatic: bool = Field(description="done without a person; a `leave` never is")


class RecoveryPlan(BaseModel):
    """The plan as it stands. Jobs that are simply in line need nothing and are only counted."""

    recovery: Recovery
    actions: list[PlanLine]
    in_line: int


class Apply(BaseModel):
    """Which jobs' actions to carry out; all of the plan's without ``jobs``."""

    jobs: list[str] | None = Field(default=None, max_length=10_000)
    reason: str | None = Field(default=None, max_length=1000)


class AppliedLine(BaseModel):
    """What came of one action: each was checked again against the job as it was then."""

    job_id: str
    action: PlannedAct | None = Field(description="null where the plan has nothing for the job")
    result: Literal["done", "skipped"]
    why: str


class AppliedPlan(BaseModel):
    """What came of the plan."""

    results: list[AppliedLine]
    done: int
    skipped: int


class Violation(BaseModel):
    """A broken invariant; ``job_id`` is empty where no one job is concerned."""

    invariant: str
    job_id: str
    text: str


class Fsck(BaseModel):
    """What a check of all records found."""

    clean: bool
    checked: list[str]
    violations: list[Violation]
    seconds: float


class DrillRequest(BaseModel):
    """A fault to inject; ``confirm`` repeats the fault's name."""

    fault: Literal[
        "scheduler-loss", "scheduler-hang", "worker-loss", "worker-hang", "stream-drop", "api-loss"
    ]
    confirm: str
    target: str | None = None


class DrillStep(BaseModel):
    """One line of a drill's timeline; ``seen`` and ``expected`` are seconds since the injection."""

    at: str
    name: str
    text: str
    expected: float | None
    seen: float | None
    verdict: Literal["ok", "late", "failed", "nothing_to_judge"] | None = Field(
        description="nothing_to_judge: nothing was there for the fault to prove it on"
    )


class DrillAwaited(BaseModel):
    """Something expected that was not seen yet."""

    name: str
    expected: float | None


class DrillEvidence(BaseModel):
    """For one unfinished job: the stages it had completed before the fault and whether any ran again."""

    job_id: str
    stages_before: list[str]
    stages_after: list[str]
    repeated: int
    state: str
    attempt: int


class Drill(BaseModel):
    """A fault injected on purpose and what was seen."""

    id: str
    fault: str
    target: str | None
    state: Literal["running", "passed", "failed", "healed", "not_shown"] = Field(
        description="not_shown: in time, but nothing ran that the fault could hit; neither passed nor failed"
    )
    started_at: str
    ended_at: str | None
    timeline: list[DrillStep]
    awaited: list[DrillAwaited]
    evidence: list[DrillEvidence]


class Drills(BaseModel):
    """The newest drills, newest first."""

    drills: list[Drill]
