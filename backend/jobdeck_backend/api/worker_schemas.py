"""What the operations API accepts and answers about workers and failures."""

from typing import Literal

from pydantic import BaseModel, Field

from jobdeck_backend.api.schemas import Act

WorkerState = Literal["starting", "running", "draining", "drained", "paused", "restarting"]


class Restart(Act):
    """How long jobs that run there may take to finish; 0 ends the process at once."""

    grace_seconds: float = Field(default=30.0, ge=0, le=86_400)


class WorkerAct(BaseModel):
    """A worker after an act on it, and what came of the act in words."""

    name: str
    state: WorkerState
    running: int = Field(description="jobs that run there; a thread whose job was taken from it is none")
    result: str


class WorkerLog(BaseModel):
    """The end of a worker's log, as any terminal may show it."""

    worker: str
    lines: list[str]
    more: bool = Field(description="whether the log has lines before these")


class FailureExample(BaseModel):
    """The newest job of its kind."""

    job_id: str
    workflow: str
    message: str | None
    attempt: int
    worker: str | None
    traceback: str | None = Field(description="lines of code without anybody's values")


class FailureKind(BaseModel):
    """Jobs that failed of the same kind of error in the same stage."""

    error_type: str | None
    stage: str | None = Field(description="null where it failed outside any stage")
    count: int
    last_seen: str
    example: FailureExample


class Failures(BaseModel):
    """Every kind of failure, the one last seen first."""

    failures: list[FailureKind]
