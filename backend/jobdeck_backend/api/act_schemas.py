"""What acts on the line carry, and which acts of the audit are asked for."""

from pydantic import BaseModel, Field

from jobdeck_backend.api.jobs_schemas import JobId
from jobdeck_backend.api.schemas import Act, Number
from jobdeck_backend.jobs.ids import LENGTH_MAX


class Priority(Act):
    """A place in the line: among equal deadlines the higher priority goes first."""

    priority: int = Field(ge=-1000, le=1000)


class Clone(Act):
    """The new job's id; one is made without."""

    job_id: JobId | None = None


class AuditQuery(BaseModel):
    """Which acts, and where in their order to begin."""

    act: str | None = Field(default=None, max_length=32)
    actor: str | None = Field(default=None, max_length=128)
    job_id: str | None = Field(default=None, max_length=LENGTH_MAX)
    refused: bool | None = Field(default=None, description="only those refused, or only those done")
    newest: bool = Field(default=False, description="newest first")
    after: Number = Field(default=0, description="id of the last row seen, oldest first")
    before: Number | None = Field(default=None, description="id of the last row seen, newest first")
    limit: int = Field(default=100, ge=1, le=1000)
