"""What the filter language can ask of queues, failures, acts and workers."""

from typing import TYPE_CHECKING

from jobdeck_tui.client.models import AuditRow, DaskWorker, Queue

from .filter import Language, Number, Words

if TYPE_CHECKING:
    from jobdeck_tui.client.workers import Failure


def _text(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part).lower()


def _queue_state(queue: Queue, _now: float) -> str:
    return "paused" if queue.paused else "open"


def _depth(state: str) -> Number[Queue]:
    return Number(lambda queue, _now: queue.depth.get(state, 0))


QUEUES: Language[Queue] = Language(
    fields={
        "queue": Words(lambda queue, _now: queue.name),
        "state": Words(_queue_state, {"paused": ("paused",), "open": ("open",)}),
        **{state: _depth(state) for state in ("backlog", "waiting", "queued", "running", "held")},
        "oldest": Number(lambda queue, _now: queue.oldest_age),
        "p50": Number(lambda queue, _now: queue.p50),
        "p95": Number(lambda queue, _now: queue.p95),
        "risk": Number(lambda queue, _now: queue.at_risk),
    },
    text=lambda queue: _text(queue.name, queue.paused_by),
)

FAILURES: "Language[Failure]" = Language(
    fields={
        "error": Words(lambda kind, _now: kind.error_type),
        "stage": Words(lambda kind, _now: kind.stage),
        "agent": Words(lambda kind, _now: kind.workflow),
        "worker": Words(lambda kind, _now: kind.worker, prefix=True),
        "id": Words(lambda kind, _now: kind.job_id, prefix=True),
        "count": Number(lambda kind, _now: kind.count),
        "age": Number(lambda kind, now: now - kind.last_seen),
    },
    text=lambda kind: _text(
        kind.error_type, kind.stage, kind.workflow, kind.worker, kind.job_id, kind.message
    ),
)


def _act_state(act: AuditRow, _now: float) -> str:
    return "refused" if act.result.startswith("refused:") else "done"


AUDIT: Language[AuditRow] = Language(
    fields={
        "who": Words(lambda act, _now: act.actor),
        "act": Words(lambda act, _now: act.act),
        "id": Words(lambda act, _now: act.job_id, prefix=True),
        "state": Words(_act_state, {"done": ("done",), "refused": ("refused",)}),
        "age": Number(lambda act, now: now - act.at),
    },
    text=lambda act: _text(act.actor, act.act, act.job_id, act.result, act.reason),
)

WORKERS: Language[DaskWorker] = Language(
    fields={
        "worker": Words(lambda worker, _now: worker.name, prefix=True),
        "state": Words(lambda worker, _now: worker.state),
        "run": Number(lambda worker, _now: worker.executing),
        "ready": Number(lambda worker, _now: worker.ready),
        "threads": Number(lambda worker, _now: worker.threads),
        "memory": Number(lambda worker, _now: worker.memory_bytes / 1e9),
        "seen": Number(lambda worker, _now: worker.last_seen_age),
    },
    text=lambda worker: _text(worker.name, worker.address, worker.state),
)
