"""What the filter language can ask of a job and of an event."""

from jobdeck_tui.client.models import FINISHED, STATES, Event, Job

from .columns import display_state, left_seconds
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


def _event_text(event: Event) -> str:
    return f"{event.job_id}\n{event.type}\n{event.name or ''}\n{event.payload}".lower()


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

EVENTS: Language[Event] = Language(
    fields={
        "type": Words(lambda event, _now: event.type, prefix=True),
        "name": Words(lambda event, _now: event.name),
        "id": Words(lambda event, _now: event.job_id, prefix=True),
        "age": Number(lambda event, now: None if event.at is None else now - event.at),
        "seq": Number(lambda event, _now: event.seq),
    },
    text=_event_text,
)
