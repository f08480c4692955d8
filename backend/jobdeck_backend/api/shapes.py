"""Records as the operations API writes them: the shapes of ``schemas``, made as plain dictionaries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from fastapi import Response

from jobdeck_backend.addresses import origin
from jobdeck_backend.api.board import Picture
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.errors import Unavailable
from jobdeck_backend.jobs.artifacts import Artifact
from jobdeck_backend.jobs.forecast import ServiceTime
from jobdeck_backend.jobs.records import Aside, Attempt, Effect, Lease, Notification, StageRun, StoredEvent
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.jobs.why import Why
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.store.figures import LineRow

EFFECT_TEXT_SHOWN_CHARS = 4_000


def answer(content: object, status_code: int = 200) -> Response:
    """A JSON response, encoded once."""
    return Response(orjson.dumps(content), status_code, media_type="application/json")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else max(0.0, round(now - at, 3))


def job_row(view: JobView, now: float) -> dict[str, Any]:
    """``JobRow``."""
    source = view.source
    return {
        "job_id": source.job_id,
        "queue": source.queue,
        "workflow": source.workflow,
        "owner": source.owner,
        "state": view.state,
        "status": source.status,
        "outcome": source.outcome,
        "reason": view.reason,
        "deadline": zulu_iso(source.deadline),
        "left": _rounded(view.left(now)),
        "predicted_finish": zulu_iso(view.predicted_finish),
        "slack": _rounded(view.slack),
        "priority": source.priority,
        "attempt": source.attempt,
        "epoch": source.epoch,
        "worker": source.worker,
        "stage": source.stage,
        "stages_done": source.stages_done,
        "stages_total": source.stages_total,
        "heartbeat_age": _age(source.heartbeat_at, now) if source.slot_taken else None,
        "progress_age": None if view.finished else _age(source.progress_at, now),
        "version": source.version,
        "accepted_at": zulu_iso(source.accepted_at),
        "started_at": zulu_iso(source.started_at),
        "finished_at": zulu_iso(source.finished_at),
        "cancel_requested_at": zulu_iso(source.cancel_requested_at),
        "cancel_acknowledged_at": zulu_iso(source.cancel_acknowledged_at),
        "slot_taken": source.slot_taken,
        "after": [one.job_id for one in view.predecessors],
        "thread_id": source.thread_id,
        "note": source.note,
        "error": source.error,
    }


def why(reason: Why) -> dict[str, Any]:
    """``Why``."""
    return {"code": reason.code, "text": reason.text, "data": reason.data}


def transition(row: dict[str, Any]) -> dict[str, Any]:
    """``Transition``."""
    names = ("from_status", "to_status", "fence", "name", "actor", "reason")
    return {"at": zulu_iso(row["at"]), **{name: row[name] for name in names}}


def attempt(one: Attempt, aside: Aside) -> dict[str, Any]:
    """``Attempt``."""
    return {
        "attempt": one.attempt,
        "fence": one.fence,
        "worker": one.worker,
        "pid": one.pid,
        "epoch": one.epoch,
        "started_at": zulu_iso(one.started_at),
        "heartbeat_at": zulu_iso(one.heartbeat_at),
        "ended_at": zulu_iso(one.ended_at),
        "end_reason": one.end_reason,
        "late_result": aside.late_result,
        "late_result_chars": aside.late_result_chars,
        "traceback": aside.traceback,
    }


def stage(run: StageRun) -> dict[str, Any]:
    """``Stage``."""
    return {
        "node": run.node,
        "step": run.step,
        "attempt": run.attempt,
        "pid": run.pid,
        "started_at": zulu_iso(run.started_at),
        "completed_at": zulu_iso(run.completed_at),
        "checkpoint_id": run.checkpoint_id,
        "output_hash": run.output_hash,
    }


def effect(one: Effect) -> dict[str, Any]:
    """``Effect``."""
    return {
        "key": one.key,
        "name": one.name,
        "node": one.node,
        "step": one.step,
        "policy": one.policy,
        "state": one.state,
        "request": _shown(one.request),
        "attempt": one.attempt,
        "intents": one.intents,
        "intent_at": zulu_iso(one.intent_at),
        "settled_at": zulu_iso(one.settled_at),
        "settled_by": one.settled_by,
        "outcome": _shown(one.outcome),
        "proof": one.proof,
    }


def notification(one: Notification | None) -> dict[str, Any] | None:
    """``Notification``, without what of its URL may be secret."""
    if one is None:
        return None
    return {
        "id": one.id,
        "event": one.name,
        "target": origin(one.url),
        "state": one.state,
        "attempts": one.attempts,
        "created_at": zulu_iso(one.created_at),
        "next_at": zulu_iso(one.next_at),
        "last_error": one.last_error,
        "delivered_at": zulu_iso(one.delivered_at),
    }


def _shown(text: str | None) -> Any:
    """JSON text as the value it is; of a long one the beginning of its text."""
    if text is None:
        return None
    return (
        orjson.Fragment(text.encode())
        if len(text) <= EFFECT_TEXT_SHOWN_CHARS
        else text[:EFFECT_TEXT_SHOWN_CHARS]
    )


def artifact(one: Artifact) -> dict[str, Any]:
    """``Artifact``."""
    return {
        "artifact_id": one.artifact_id,
        "filename": one.filename,
        "kind": one.kind,
        "mime_type": one.media_type,
        "size_bytes": one.size_bytes,
        "sha256": one.sha256,
        "title": one.title,
        "caption": one.caption,
        "attempt": one.attempt,
        "created_at": zulu_iso(one.created_at),
        "removed_at": zulu_iso(one.removed_at),
        "content_url": one.content_url,
    }


def audit_row(row: dict[str, Any]) -> dict[str, Any]:
    """``AuditRow``."""
    return {**row, "at": zulu_iso(row["at"])}


def event(one: StoredEvent) -> bytes:
    """A stored event of the feed, around its payload as it was stored."""
    payload = one.payload.encode()
    named = orjson.loads(payload).get("name")
    head = {"job_id": one.job_id, "seq": one.seq, "type": one.type, "at": zulu_iso(one.at), "name": named}
    return orjson.dumps({**head, "payload": orjson.Fragment(payload)})


def storage(trouble: Unavailable | None) -> dict[str, Any]:
    """``StorageState``."""
    if trouble is None:
        return {"state": "ok", "reason": None}
    return {"state": trouble.code, "reason": trouble.message}


def scheduler(cluster: Cluster, now: float) -> dict[str, Any]:
    """``SchedulerView``."""
    snapshot = cluster.snapshot
    return {
        "state": "external" if cluster.state == "up" and not cluster.embedded else cluster.state,
        "problem": cluster.problem,
        "unfit": {}
        if snapshot is None
        else {one.name: one.problem for one in snapshot.workers if one.problem},
        "address": cluster.address,
        "epoch": cluster.epoch,
        "id": None if snapshot is None else snapshot.scheduler_id,
        "seen_age": None if snapshot is None else _age(snapshot.read_at, now),
        "dashboard_url": cluster.dashboard_url,
    }


def recovery(lease: Lease | None, mode: str, now: float) -> dict[str, Any]:
    """``Recovery``."""
    return {
        "mode": mode,
        "owner": lease and lease.owner,
        "epoch": lease and lease.epoch,
        "expires_in": None if lease is None else round(lease.expires_at - now, 3),
        "acquired_at": None if lease is None else zulu_iso(lease.acquired_at),
        "taken_from": lease and lease.taken_from,
    }


def service_time(time: ServiceTime) -> dict[str, float]:
    """p50, p95 and mean in seconds, over n executions."""
    return {
        "p50": round(time.p50, 3),
        "p95": round(time.p95, 3),
        "mean": round(time.mean, 3),
        "n": time.count,
    }


def queues(
    names: Iterable[str],
    picture: Picture,
    sizes: Mapping[str, int],
    ended: Mapping[str, int],
    window_s: float,
) -> list[dict[str, Any]]:
    """``QueueView`` of each. By queue, ``sizes``: how many jobs it has or had; ``ended``: how many of them ended
    within the last ``window_s`` seconds."""
    lines: dict[str, list[LineRow]] = {}
    for row in picture.line:
        lines.setdefault(row.queue, []).append(row)
    return [
        _queue(name, lines.get(name, ()), picture, ended.get(name, 0), window_s)
        | {"jobs": sizes.get(name, 0)}
        for name in names
    ]


def _queue(
    name: str, line: Sequence[LineRow], picture: Picture, ended: int, window_s: float
) -> dict[str, Any]:
    depth: dict[str, int] = {}
    for row in line:
        state = picture.states[row.job_id].value
        depth[state] = depth.get(state, 0) + 1
    time = picture.queue_times.get(name)
    return {
        "name": name,
        "paused": name in picture.paused,
        "paused_by": picture.paused.get(name),
        "depth": depth,
        "oldest_age": max((_age(row.accepted_at, picture.at) or 0.0 for row in line), default=None),
        "p50": None if time is None else round(time.p50, 3),
        "p95": None if time is None else round(time.p95, 3),
        "done_per_minute": round(ended * 60 / window_s, 2),
        "at_risk": sum(map(picture.at_risk, line)),
    }
