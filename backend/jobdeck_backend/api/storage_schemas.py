"""What the operations API takes and answers about storage: what it holds, pruning, and callbacks sent again."""

from typing import Literal

from pydantic import BaseModel, Field

from jobdeck_backend.api.schemas import Act, StorageState

AGE_S_MAX = 10 * 365 * 86_400


class Prune(Act):
    """What is to go: finished jobs that ended longer ago."""

    older_than_seconds: float = Field(ge=0, le=AGE_S_MAX)
    dry_run: bool = Field(default=False, description="only tell what would go")


class Pruning(BaseModel):
    """One pruning, as far as it has come."""

    state: Literal["running", "done", "failed", "dry run"]
    before: str = Field(description="jobs that ended earlier go")
    started_at: str
    ended_at: str | None
    jobs: int = Field(description="jobs to go, or that would")
    events: int = Field(description="their events")
    removed: dict[str, int] = Field(description="rows gone so far, by table")
    freed_bytes: int = Field(description="given back to the disk")
    error: str | None


class Kind(BaseModel):
    """One kind of what is stored: its rows, and the bytes of their content."""

    rows: int
    bytes: int


class Space(BaseModel):
    """In bytes: the database with what its log still holds, what of it is free, that log, the disk's room."""

    database_bytes: int
    log_bytes: int
    free_bytes: int
    disk_free_bytes: int


class Storage(BaseModel):
    """What is stored, what it takes, and what a pruning would remove."""

    state: StorageState
    space: Space | None = Field(description="None where PostgreSQL keeps its own files")
    kinds: dict[str, Kind] = Field(description="jobs, events, checkpoints, checkpoint_writes")
    unfinished: int
    retention_seconds: float | None = Field(description="jobs older than this go by themselves")
    prunable: Pruning = Field(description="what pruning would remove now")
    last_pruning: Pruning | None = Field(description="the one under way, else the last since the start")
