"""What the workflow API accepts and answers, key by key in its order. Times are ISO 8601 UTC with ``Z``."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from jobdeck_backend.api.jobs_schemas import AnyJobId, AskedFields
from jobdeck_backend.api.schemas import Status

EXPIRY_SECONDS = 3_600


class AsyncGenerateRequest(AskedFields):
    """A run of a workflow: its own input beside the contract's fields, taken in pydantic's lax mode."""

    # A workflow with an input schema takes its fields here.
    model_config = ConfigDict(extra="allow")
    job_id: AnyJobId | None = None
    sync_timeout: int = Field(default=0, ge=0, le=300, description="seconds this answer may wait for the end")
    expiry_seconds: int = Field(
        default=EXPIRY_SECONDS, ge=600, le=86_400, description="how long output files are kept once it ended"
    )
    workflow: str = Field(default="contract_review", description="which one runs")
    input_message: str | None = Field(default=None, description="the input of a workflow that takes text")


class AsyncGenerateResponse(BaseModel):
    """An accepted job, or one that had that id already."""

    job_id: str
    status: Status


class KnownJobResponse(AsyncGenerateResponse):
    """The job that has that id; nothing was started."""

    request_matches: bool = Field(description="whether it was asked for the same way")


class AsyncGenerationStatusResponse(BaseModel):
    """A job's status and result."""

    job_id: str
    status: Status
    error: str | None
    created_at: str
    updated_at: str
    expires_at: str | None = Field(description="when its output files may go; null while it is unfinished")
    output: dict[str, Any] | None
