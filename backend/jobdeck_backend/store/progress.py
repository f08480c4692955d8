"""The graph's own progress: LangGraph's newest checkpoint of a thread, read without LangGraph (R19).

Which node runs next stands in the checkpoint's channels: the input, a branch, a full join or a sent task waits
there until a node takes it. When nothing waits, the graph is at its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import ormsgpack
from sqlalchemy import Connection, bindparam, column, func, select, table

_checkpoints = table(
    "checkpoints",
    column("thread_id"),
    column("checkpoint_ns"),
    column("checkpoint_id"),
    column("type"),
    column("checkpoint"),
    column("metadata"),
)
# Built once: asked for each of thousands of lost jobs.
_NEWEST = (
    select(
        _checkpoints.c.checkpoint_id,
        _checkpoints.c.type,
        _checkpoints.c.checkpoint,
        _checkpoints.c.metadata,
    )
    .where(_checkpoints.c.thread_id == bindparam("thread"), _checkpoints.c.checkpoint_ns == "")
    .order_by(_checkpoints.c.checkpoint_id.desc())
    .limit(1)
)
_WAITING = ("__start__", "branch:to:", "join:", "__pregel_tasks")


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest checkpoint of one job. ``finished``: no node is left to run, only the end is not on record."""

    checkpoint_id: str
    finished: bool


def newest(tx: Connection, thread_id: str, job_id: str) -> Progress | None:
    """The thread's newest checkpoint, if this very job made it; one of an earlier job is no progress of it."""
    row = tx.execute(_NEWEST, {"thread": thread_id}).first()
    if row is None or orjson.loads(row.metadata).get("job_id") != job_id:
        return None
    return Progress(row.checkpoint_id, row.type == "msgpack" and _is_finished(row.checkpoint))


def saved(tx: Connection, thread_id: str, limit: int) -> list[dict[str, Any]]:
    """What is known of a thread's newest checkpoints without their state: id, graph, step, source, job, size."""
    statement = (
        select(
            _checkpoints.c.checkpoint_id,
            _checkpoints.c.checkpoint_ns,
            _checkpoints.c.metadata,
            func.length(_checkpoints.c.checkpoint).label("bytes"),
        )
        .where(_checkpoints.c.thread_id == thread_id)
        .order_by(_checkpoints.c.checkpoint_id.desc())
        .limit(limit)
    )
    found = []
    for row in tx.execute(statement):
        metadata = orjson.loads(row.metadata)
        told = {name: metadata.get(name) for name in ("job_id", "attempt", "step", "source")}
        found.append({"id": row.checkpoint_id, "graph": row.checkpoint_ns, "bytes": row.bytes, **told})
    return found


def _is_finished(checkpoint: bytes) -> bool:
    options = ormsgpack.OPT_NON_STR_KEYS
    try:
        saved = ormsgpack.unpackb(checkpoint, ext_hook=_plainly, option=options)
    except ormsgpack.MsgpackDecodeError:
        return False
    channels: Mapping[str, Any] = saved["channel_values"]
    return not any(name.startswith(_WAITING) and _holds(name, value) for name, value in channels.items())


def _holds(name: str, value: Any) -> bool:
    """Whether something waits in a channel. An input or a branch waits by being there, even as None."""
    if name.startswith("join:"):
        return bool(value[-1])  # a set as LangGraph writes it: module, name, items
    return name != "__pregel_tasks" or bool(value)


def _plainly(_code: int, data: bytes) -> Any:
    """An object of LangGraph's encoding as the plain parts it was made of."""
    return ormsgpack.unpackb(data, ext_hook=_plainly, option=ormsgpack.OPT_NON_STR_KEYS)
