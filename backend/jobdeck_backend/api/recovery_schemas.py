"""What the operations API answers about recovery: the plan, what came of it, and the invariants."""

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
