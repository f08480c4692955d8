"""Workers, their logs and what failed on them, as the backend tells it; sanitised here as in ``decode``."""

from dataclasses import dataclass
from typing import NamedTuple

from .fields import NOTE_LIMIT, Fields

LOG_LINE_LIMIT = 2_000
TRACEBACK_LIMIT = 20_000


class WorkerAct(NamedTuple):
    """A worker after a drain or a restart, and what came of it in words; ``running`` jobs are there."""

    name: str
    state: str
    running: int
    result: str


class WorkerLog(NamedTuple):
    """The end of a worker's log; ``more``: there are lines before these."""

    worker: str
    lines: tuple[str, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """Jobs that failed of one kind of error in one stage, with the newest of them."""

    error_type: str
    stage: str
    count: int
    last_seen: float
    job_id: str
    workflow: str
    message: str
    attempt: int
    worker: str | None
    traceback: str | None

    @property
    def key(self) -> str:
        """What makes it one kind."""
        return f"{self.error_type}\n{self.stage}"


def worker_act(data: object) -> WorkerAct:
    """Read what came of a drain or a restart."""
    row = Fields(data)
    return WorkerAct(
        row.text("name"), row.text("state"), row.integer("running"), row.text("result", NOTE_LIMIT)
    )


def worker_log(data: object) -> WorkerLog:
    """Read the end of a worker's log."""
    row = Fields(data)
    return WorkerLog(row.text("worker"), row.texts("lines", LOG_LINE_LIMIT), row.flag("more"))


def failure(data: object) -> Failure:
    """Read one kind of failure."""
    row = Fields(data)
    example = Fields(row.raw("example"))
    return Failure(
        error_type=row.maybe_text("error_type") or "",
        stage=row.maybe_text("stage") or "",
        count=row.integer("count"),
        last_seen=row.time("last_seen"),
        job_id=example.text("job_id"),
        workflow=example.text("workflow"),
        message=example.maybe_text("message", NOTE_LIMIT) or "",
        attempt=example.integer("attempt"),
        worker=example.maybe_text("worker"),
        traceback=example.body("traceback", TRACEBACK_LIMIT),
    )
