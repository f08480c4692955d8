"""The stored events that tell of what commands did, in the jobs API's envelope."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from jobdeck_backend.clock import iso
from jobdeck_backend.jobs.records import NewEvent

# Start and end repeat input and report for readers; a longer one is in the record anyway.
TEXT_SHOWN_CHARS = 8_000


def envelope(
    type: str,  # noqa: A002
    now: float,
    *,
    id: str | None = None,  # noqa: A002
    name: str | None = None,
    data: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> NewEvent:
    """An agent event: ``id``, ``timestamp`` and whatever of name, data and metadata there is."""
    payload: dict[str, Any] = {"id": id or str(uuid4()), "timestamp": iso(now)}
    if name is not None:
        payload["name"] = name
    if data is not None:
        payload["data"] = data
    if metadata is not None:
        payload["metadata"] = metadata
    return NewEvent(type, payload)


def notice(name: str, now: float, text: str, **data: Any) -> NewEvent:
    """A ``job.update`` named after what happened, with words for people in ``data.output``."""
    return envelope("job.update", now, name=name, data={"output": text, **data})


def workflow_start(agent_type: str, now: float, request: str, attempt: int, worker: str) -> NewEvent:
    """An attempt began."""
    metadata = {"workflow": agent_type, "attempt": attempt, "worker": worker}
    return envelope(
        "workflow.start", now, name=agent_type, data={"input": _beginning(request)}, metadata=metadata
    )


def workflow_end(agent_type: str, now: float, report: str | None) -> NewEvent:
    """The graph ended and its final state was read back."""
    shown = None if report is None else _beginning(report)
    metadata = {"workflow": agent_type}
    return envelope("workflow.end", now, name=agent_type, data={"output": shown}, metadata=metadata)


def _beginning(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN_CHARS else text[:TEXT_SHOWN_CHARS] + "…"


def flat(type: str, now: float, **data: Any) -> NewEvent:  # noqa: A002
    """An event of the job itself: what the contract gives these, and when it was."""
    return NewEvent(type, {"data": data, "timestamp": iso(now)})


def job_error(error: str, error_type: str, now: float) -> NewEvent:
    """The job failed, and of what."""
    return flat("job.error", now, error=error, error_type=error_type)


def cancellation_requested(reason: str, now: float) -> NewEvent:
    """Somebody asked for a cancel; its worker has yet to acknowledge."""
    return flat("job.cancellation_requested", now, reason=reason)


def cancelled(reason: str, now: float) -> NewEvent:
    """The cancelled job's execution is over."""
    return flat("job.cancelled", now, reason=reason)


def heartbeat(uptime_s: int, now: float) -> NewEvent:
    """The worker lives; ``uptime_s`` since its claim."""
    return flat("job.heartbeat", now, uptime_seconds=uptime_s)
