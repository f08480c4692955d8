"""What the jobs API accepts and answers. Times are ISO 8601 UTC strings with ``+00:00``."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from jobdeck_backend.api.schemas import Outcome, Status

JobId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class SubmitRequest(BaseModel):
    """A job to run, as the jobs API takes it; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")
    agent_type: str
    input: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    job_id: JobId | None = None
    expiry_seconds: int = Field(default=86_400, ge=600, le=604_800)
    data_sources: list[str] | None = None
    deadline_seconds: float | None = Field(default=None, gt=0, le=31_536_000)
    deadline: str | None = None
    after: list[JobId] = Field(default=[], max_length=1000)
    after_policy: Literal["succeeded", "finished"] = "succeeded"
    thread_id: JobId | None = None
    priority: int = Field(default=0, ge=-1000, le=1000)
    queue: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] | None = None
    callback_url: str | None = Field(
        default=None, description="gets a signed POST when the job ends or is held; http or https"
    )


class Submitted(BaseModel):
    """The answer to an accepted job."""

    job_id: str
    status: Literal["submitted"]
    agent_type: str
    error: None
    created_at: str
    deadline: str | None = None


class JobStatus(BaseModel):
    """A job's status, as the jobs API gives it."""

    job_id: str
    status: Status
    agent_type: str
    error: str | None
    created_at: str
    outcome: Outcome | None
    deadline: str | None
    thread_id: str
    attempt: int
    started_at: str | None
    finished_at: str | None
    worker: str | None


class Cancelled(BaseModel):
    """The answer to a cancel; ``task_cancelled`` is true when no worker had started it."""

    job_id: str
    status: Literal["interrupted"]
    task_cancelled: bool


class JobState(BaseModel):
    """What the stored events add up to."""

    job_id: str
    has_state: bool
    state: None
    artifacts: dict[str, Any] | None


class Report(BaseModel):
    """A job's report, as far as it is there."""

    job_id: str
    has_report: bool
    report: str | None
    parent_job_id: str | None
    interaction_action: str | None
    result_kind: str | None


class Artifact(BaseModel):
    """A file that a job left behind; of an expired one the bytes are removed."""

    artifact_id: str
    job_id: str
    kind: Literal["image", "table", "dataset", "notebook", "document", "text", "archive", "other"]
    mime_type: str
    filename: str
    sha256: str
    size_bytes: int
    title: str | None
    caption: str | None
    inline: bool
    created_at: str
    status: Literal["available", "expired"]
    content_url: str


class Artifacts(BaseModel):
    """A job's files in the order of their creation."""

    job_id: str
    artifacts: list[Artifact]
