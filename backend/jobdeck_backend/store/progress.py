"""The graph's own progress: LangGraph's newest checkpoint of a thread, read without LangGraph (R19).

Which node runs next stands in the checkpoint's channels: the input, a branch, a full join or a sent task waits
there until a node takes it. When nothing waits, the graph is at its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import ormsgpack
from sqlalchemy import Connection, Text, bindparam, cast, column, func, select, table

from jobdeck_backend.store.engine import is_postgres
from jobdeck_backend.store.prepared import Prepared

_checkpoints = table(
    "checkpoints",
    column("thread_id"),
    column("checkpoint_ns"),
    column("checkpoint_id"),
    column("type"),
    column("checkpoint"),
    column("metadata"),
)
# Asked for each of thousands of lost jobs.
_NEWEST = Prepared(
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
# PostgreSQL's saver keeps plain values in the checkpoint and encoded ones beside it, by the channel's version.
_NEWEST_IN_POSTGRES = """
    SELECT checkpoint_id, metadata ->> 'job_id' AS job_id, (checkpoint -> 'channel_values')::text AS plain, (
        SELECT array_agg(ARRAY[convert_to(channel, 'UTF8'), convert_to(kept.type, 'UTF8'), coalesce(blob, '')])
        FROM jsonb_each_text(checkpoint -> 'channel_versions') AS versions
        JOIN checkpoint_blobs AS kept ON kept.thread_id = checkpoints.thread_id
            AND kept.checkpoint_ns = '' AND kept.channel = versions.key AND kept.version = versions.value
        WHERE kept.channel IN ('__start__', '__pregel_tasks')
            OR starts_with(kept.channel, 'branch:to:') OR starts_with(kept.channel, 'join:')
    ) AS encoded
    FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1
"""
_WAITING = ("__start__", "branch:to:", "join:", "__pregel_tasks")


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest checkpoint of one job. ``finished``: no node is left to run, only the end is not on record."""

    checkpoint_id: str
    finished: bool


def newest(tx: Connection, thread_id: str, job_id: str) -> Progress | None:
    """The thread's newest checkpoint, if this very job made it; one of an earlier job is no progress of it."""
    if is_postgres(tx):
        return _newest_in_postgres(tx, thread_id, job_id)
    row = _NEWEST.first(tx, {"thread": thread_id})
    if row is None:
        return None
    checkpoint_id, encoding, checkpoint, metadata = row
    if orjson.loads(metadata).get("job_id") != job_id:
        return None
    return Progress(checkpoint_id, encoding == "msgpack" and _is_finished(checkpoint))


def saved(tx: Connection, thread_id: str, limit: int) -> list[dict[str, Any]]:
    """What is known of a thread's newest checkpoints without their state: id, graph, step, source, job, size."""
    size = func.pg_column_size if is_postgres(tx) else func.length
    statement = (
        select(
            _checkpoints.c.checkpoint_id,
            _checkpoints.c.checkpoint_ns,
            cast(_checkpoints.c.metadata, Text).label("metadata"),  # PostgreSQL's is JSONB
            size(_checkpoints.c.checkpoint).label("bytes"),
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


def _newest_in_postgres(tx: Connection, thread_id: str, job_id: str) -> Progress | None:
    row = tx.exec_driver_sql(_NEWEST_IN_POSTGRES, (thread_id,)).first()
    if row is None or row.job_id != job_id:
        return None
    waiting = any(name.startswith(_WAITING) for name in orjson.loads(row.plain))
    for name, kind, value in row.encoded or ():
        channel = bytes(name).decode()
        if channel.startswith(_WAITING) and bytes(kind) != b"empty":
            waiting = waiting or bytes(kind) != b"msgpack" or _holds(channel, _plainly(0, bytes(value)))
    return Progress(row.checkpoint_id, not waiting)


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
