"""What the jobs API accepts and answers. Times are ISO 8601 UTC strings with ``+00:00``."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from jobdeck_backend.api.schemas import Outcome, Status
from jobdeck_backend.jobs.ids import LENGTH_MAX, check_id

ExpirySeconds = Annotated[int, Field(ge=600, le=604_800)]
EXPIRY_SECONDS = 86_400
"""Where none is given."""

JobId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
AnyJobId = Annotated[str, AfterValidator(check_id), Field(max_length=LENGTH_MAX)]
"""An id as the workflow API takes it too; of a job that may have come by either contract."""


class AskedFields(BaseModel):
    """What jobdeck adds to both contracts' requests. Of a list one problem is told: it may have a million."""

    model_config = ConfigDict(extra="ignore")
    deadline_seconds: float | None = Field(
        default=None, gt=0, le=31_536_000, description="from acceptance; covers queue wait and every attempt"
    )
    deadline: str | None = Field(default=None, description="RFC 3339, in place of deadline_seconds")
    admission: Literal["best_effort", "strict"] = Field(
        default="best_effort", description="strict: refused with an offer unless the deadline can be met"
    )
    after: list[AnyJobId] = Field(default=[], max_length=1000, fail_fast=True)
    after_policy: Literal["succeeded", "finished"] = "succeeded"
    thread_id: AnyJobId | None = None
    priority: int = Field(default=0, ge=-1000, le=1000)
    queue: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$")] | None = None
    callback_url: str | None = Field(
        default=None, description="gets a signed POST when the job ends or is held; http or https"
    )
    data_sources: list[str] | None = Field(
        default=None, max_length=1000, fail_fast=True, description="ids in any case; null: all, []: none"
    )


class SubmitRequest(AskedFields):
    """A job to run, as the jobs API takes it; unknown fields are ignored."""

    agent_type: str
    input: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    job_id: JobId | None = None
    expiry_seconds: ExpirySeconds | None = None


class EditRequest(BaseModel):
    """How a finished report is to be changed."""

    model_config = ConfigDict(extra="ignore")
    input: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    job_id: JobId | None = None
    expiry_seconds: ExpirySeconds | None = None


class Edited(BaseModel):
    """The answer to an accepted edit."""

    job_id: str
    parent_job_id: str
    status: Literal["submitted"]
    agent_type: Literal["report_rewriter"]


class DataSource(BaseModel):
    """Something a workflow can read from."""

    id: str
    name: str
    description: str
    default_enabled: bool
    requires_auth: bool
    per_user_auth: bool


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
