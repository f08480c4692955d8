"""What one act on many jobs carries, and what it answers."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from jobdeck_backend.api.jobs_schemas import AnyJobId
from jobdeck_backend.api.schemas import Number, State

BULK_JOBS_MAX = 5_000


def _few(versions: Any) -> Any:
    # Before they are looked at one by one: each that is wrong would be told.
    if isinstance(versions, dict) and len(versions) > BULK_JOBS_MAX:
        raise ValueError(f"at most {BULK_JOBS_MAX} versions")
    return versions


class Bulk(BaseModel):
    """One act on the jobs listed, or on those that a filter matches now."""

    act: Literal["cancel", "expire", "resume", "grant"]
    ids: list[AnyJobId] | None = Field(default=None, min_length=1, max_length=BULK_JOBS_MAX)
    versions: Annotated[dict[str, Number], BeforeValidator(_few)] = Field(
        default={}, description="by id the version that was seen: a job that changed since is left as it is"
    )
    filter: str | None = Field(
        default=None, max_length=2000, description="the deck's filter language; empty matches every job"
    )
    extend_seconds: float | None = Field(default=None, gt=0, description="how much later a grant sets it")
    reason: str | None = Field(default=None, max_length=1000)
    dry_run: bool = Field(default=False, description="say what would come of it, and change nothing")

    @model_validator(mode="after")
    def _is_meant(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give ids or filter, one of both")
        if (self.act == "grant") != (self.extend_seconds is not None):
            raise ValueError("extend_seconds goes with grant, and grant with it")
        return self


class BulkResult(BaseModel):
    """What came of it for one job, or would come."""

    job_id: str
    ok: bool
    code: str = Field(description="done, or eligible in a dry run; else the refusal's code")
    message: str
    state: State | None = Field(description="the job's state afterwards; null for one there is not")
    version: int | None


class BulkAnswer(BaseModel):
    """A result for each job, in the order asked for, and how many had which code."""

    act: str
    dry_run: bool
    counts: dict[str, int]
    results: list[BulkResult]
