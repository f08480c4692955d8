"""The event log: one sequence a job, taken on the job's row inside the appending transaction (R26)."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import orjson
from sqlalchemy import BigInteger, Connection, CursorResult, bindparam, func, literal, select, update

from jobdeck_backend.jobs.records import NewEvent, Status, StoredEvent
from jobdeck_backend.store.prepared import Prepared
from jobdeck_backend.store.tables import events, jobs

PAGE_CHARS = 4 << 20
"""Of payload: a page ends with the event that goes beyond it."""
_EVENT = [events.c[field.name] for field in fields(StoredEvent)]
_TAKE_SEQUENCE = (
    update(jobs)
    .where(jobs.c.job_id == bindparam("id"))
    .values(event_seq=jobs.c.event_seq + bindparam("count"))
    .returning(jobs.c.event_seq)
)
_TAKE_FENCED = Prepared(
    _TAKE_SEQUENCE.where(jobs.c.fence == bindparam("owner_fence"), jobs.c.status == literal(Status.RUNNING))
)
_INSERT = Prepared(events.insert().inline())  # nobody asks for the position it gets
_AFTER = (
    select(*_EVENT)
    .where(events.c.job_id == bindparam("id"), events.c.seq > bindparam("after", type_=BigInteger))
    .order_by(events.c.seq)
    .limit(bindparam("limit"))
)
# SQLite gives positions under its one write lock, so their order is the commit order and none comes late.
_FEED = (
    select(*_EVENT)
    .where(events.c.position > bindparam("after"))
    .order_by(events.c.position)
    .limit(bindparam("limit"))
)
_LAST_POSITION = select(func.coalesce(func.max(events.c.position), 0))


def encode(payload: Any) -> str:
    """JSON text of a payload; what is not JSON is stored as its text, never dropped."""
    try:
        return orjson.dumps(payload, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps({"data": {"text": _plain(payload)}}).decode()


def _plain(value: Any) -> str:
    # Lone surrogates are the usual reason: they have no UTF-8.
    return str(value).encode("utf-8", "replace").decode()


def append_fenced(
    tx: Connection, job_id: str, fence: int, new: Sequence[NewEvent], now: float, **columns: Any
) -> bool:
    """Append an execution's events and change its job; False when it no longer owns the running job (R14)."""
    owner = {"id": job_id, "owner_fence": fence, "count": len(new)}
    taken = _TAKE_FENCED.first(tx, owner | columns)
    if taken is None:
        return False
    insert(tx, rows(job_id, taken[0], new, now))
    return True


def append(tx: Connection, job_id: str, new: Sequence[NewEvent], now: float) -> int:
    """Append events to a job's log in order; answers the last sequence number."""
    last: int = tx.execute(_TAKE_SEQUENCE, {"id": job_id, "count": len(new)}).scalar_one()
    insert(tx, rows(job_id, last, new, now))
    return last


def rows(job_id: str, last: int, new: Sequence[NewEvent], now: float) -> list[dict[str, Any]]:
    """A job's events, to be inserted; their sequence numbers, up to ``last``, were taken on the job's row."""
    first = last - len(new) + 1
    return [
        {
            "job_id": job_id,
            "seq": first + index,
            "type": event.type,
            "at": now,
            "payload": encode(event.payload),
            "status": event.status,
        }
        for index, event in enumerate(new)
    ]


def insert(tx: Connection, appended: Sequence[dict[str, Any]]) -> None:
    """Append what ``rows`` made, of one job or of many."""
    _INSERT.run(tx, *appended)


def read_after(tx: Connection, job_id: str, after: int, limit: int) -> list[StoredEvent]:
    """A job's events after a sequence number, at most ``limit``."""
    found = tx.execute(_AFTER, {"id": job_id, "after": after, "limit": limit})
    return [StoredEvent(*row) for row in found]


def read_page(tx: Connection, job_id: str, after: int, limit: int) -> tuple[list[StoredEvent], bool]:
    """As ``read_after``, but fewer where they are large; and whether there may be more."""
    return _page(tx.execute(_AFTER, {"id": job_id, "after": after, "limit": limit}), limit)


def _page(found: CursorResult[*tuple[Any, ...]], limit: int) -> tuple[list[StoredEvent], bool]:
    page: list[StoredEvent] = []
    chars = 0
    for row in found:
        page.append(StoredEvent(*row))
        chars += len(page[-1].payload)
        if chars >= PAGE_CHARS:
            found.close()
            return page, True
    return page, len(page) == limit


def read_feed(tx: Connection, after: int, limit: int) -> tuple[list[StoredEvent], bool]:
    """All jobs' events after a position, in commit order, in pages as ``read_page`` gives them."""
    return _page(tx.execute(_FEED, {"after": after, "limit": limit}), limit)


def last_position(tx: Connection) -> int:
    """The newest position, 0 for an empty log."""
    return int(tx.execute(_LAST_POSITION).scalar_one())


def stage_starts_after(tx: Connection, job_ids: Sequence[str], after: int) -> list[StoredEvent]:
    """``workflow.start`` events of these jobs after a position."""
    statement = (
        select(*_EVENT)
        .where(events.c.position > after, events.c.job_id.in_(job_ids), events.c.type == "workflow.start")
        .order_by(events.c.position)
    )
    return [StoredEvent(*row) for row in tx.execute(statement)]
