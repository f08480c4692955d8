"""What the filter language can ask of a job and of a line of events."""

from jobdeck_tui.client.models import FINISHED, STATES, Job

from .columns import display_state, left_seconds
from .event_lines import Line
from .filter import Language, Number, Words

_UNFINISHED = tuple(state for state in (*STATES, "cancelling", "ghost") if state not in FINISHED)
STATE_ALIASES: dict[str, tuple[str, ...]] = {
    **{state: (state,) for state in STATES},
    # A cancel nobody acknowledged yet is found under both names.
    "cancelled": ("cancelled", "cancelling"),
    "running": ("running", "ghost"),
    "cancelling": ("cancelling",),
    "ghost": ("ghost",),
    "done": ("succeeded",),
    "finished": tuple(FINISHED),
    "unfinished": _UNFINISHED,
}


def _job_text(job: Job) -> str:
    parts = (
        job.job_id,
        job.workflow,
        job.queue,
        job.state,
        job.worker,
        job.stage,
        job.note,
        job.reason,
        job.error,
    )
    return "\n".join(part for part in parts if part).lower()


def _line_text(line: Line) -> str:
    return f"{line.job_id}\n{line.type}\n{line.name}\n{line.label}\n{line.text}".lower()


JOBS: Language[Job] = Language(
    fields={
        "state": Words(lambda job, _now: display_state(job), STATE_ALIASES),
        "status": Words(lambda job, _now: job.status),
        "queue": Words(lambda job, _now: job.queue),
        "agent": Words(lambda job, _now: job.workflow),
        "owner": Words(lambda job, _now: job.owner),
        "worker": Words(lambda job, _now: job.worker, prefix=True),
        "stage": Words(lambda job, _now: job.stage),
        "id": Words(lambda job, _now: job.job_id, prefix=True),
        "thread": Words(lambda job, _now: job.thread_id, prefix=True),
        "left": Number(left_seconds),
        "slack": Number(lambda job, _now: None if job.finished else job.slack),
        "age": Number(lambda job, now: now - job.accepted_at),
        "try": Number(lambda job, _now: job.attempt),
        "priority": Number(lambda job, _now: job.priority),
        "epoch": Number(lambda job, _now: job.epoch),
    },
    text=_job_text,
)

EVENTS: Language[Line] = Language(
    fields={
        "type": Words(lambda line, _now: line.type, prefix=True),
        "name": Words(lambda line, _now: line.name),
        "id": Words(lambda line, _now: line.job_id, prefix=True),
        "age": Number(lambda line, now: None if line.at is None else now - line.at),
        "seq": Number(lambda line, _now: line.seq),
    },
    text=_line_text,
)
