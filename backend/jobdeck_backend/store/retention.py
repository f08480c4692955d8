"""What may be removed, and its removal: finished jobs with all that is kept about them, whole or not at all.

A job stays while something may need it: it is unfinished, or a job that stays waited for it; an effect of it is
uncertain; its caller is owed a word; a thread still executes it; an earlier job of its thread stays, whose resume
must see that the thread went on (R20); or it has the newest event, by which every cursor is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, column, delete, exists, func, or_, select, table
from sqlalchemy.sql.elements import ColumnElement

from jobdeck_backend.store.effects import OPEN
from jobdeck_backend.store.engine import is_postgres, locks
from jobdeck_backend.store.tables import (
    admissions,
    artifacts,
    attempts,
    dependencies,
    effects,
    events,
    jobs,
    notifications,
    stages,
    transitions,
)

_SQLITE_PROGRESS = {"checkpoints": ("checkpoint", "metadata"), "writes": ("value",)}
_POSTGRES_PROGRESS = {
    "checkpoints": ("checkpoint", "metadata"),
    "checkpoint_blobs": ("blob",),
    "checkpoint_writes": ("blob",),
}
"""LangGraph's tables, by thread, and what of them takes room."""
_TOLD = {"writes": "checkpoint_writes"}
"""What they are called where that is not their name."""

_OF_JOB = (events, transitions, attempts, stages, effects, notifications, artifacts)
"""By job, referred to by nothing. An artifact's bytes go when no row names them any more."""


@dataclass(frozen=True, slots=True)
class Prunable:
    """A job that may be removed, and how many events that takes."""

    job_id: str
    events: int


def _needed(before: float) -> ColumnElement[bool]:
    """Whether an admission must stay for its own sake."""
    job_id = admissions.c.job_id
    newest = select(events.c.job_id).order_by(events.c.position.desc()).limit(1).scalar_subquery()
    return or_(
        admissions.c.outcome.is_(None),
        admissions.c.finished_at >= before,
        exists().where(effects.c.job_id == job_id, effects.c.state.in_(OPEN)),
        exists().where(notifications.c.job_id == job_id, notifications.c.next_at.is_not(None)),
        exists().where(attempts.c.job_id == job_id, attempts.c.ended_at.is_(None)),
        job_id == newest,
    )


def prunable(tx: Connection, before: float) -> list[Prunable]:
    """The jobs that ended before ``before`` and that nothing needs, those first that others waited for last."""
    kept = select(admissions.c.job_id).where(_needed(before)).cte("kept", recursive=True)
    earlier, later = admissions.alias(), admissions.alias()
    after = select(dependencies.c.job_id, dependencies.c.predecessor_id.label("needs"))
    on_thread = select(earlier.c.job_id, later.c.job_id.label("needs")).join(
        later, and_(later.c.thread_id == earlier.c.thread_id, later.c.accepted_at > earlier.c.accepted_at)
    )
    ties = after.union_all(on_thread).subquery("ties")
    kept = kept.union(select(ties.c.needs).join(kept, ties.c.job_id == kept.c.job_id))
    statement = (
        select(jobs.c.job_id, jobs.c.event_seq)
        .where(jobs.c.job_id.not_in(select(kept.c.job_id)))
        .order_by(jobs.c.accepted_at.desc())
    )
    return [Prunable(row.job_id, row.event_seq) for row in tx.execute(statement)]


def remove(tx: Connection, job_ids: Sequence[str], before: float) -> tuple[Sequence[str], Mapping[str, int]]:
    """Remove these jobs as far as nothing needs them now; answers which went, and how many rows by table."""
    if locks(tx):  # another backend may be about to resume one: looked at after that
        tx.execute(
            select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids)).order_by(jobs.c.job_id).with_for_update()
        )
    going = select(admissions.c.job_id, admissions.c.thread_id).where(
        admissions.c.job_id.in_(job_ids),
        ~_needed(before),
        ~exists().where(
            dependencies.c.predecessor_id == admissions.c.job_id, dependencies.c.job_id.not_in(job_ids)
        ),
    )
    found = tx.execute(going).all()
    if not found:
        return (), {}
    ids = [row.job_id for row in found]
    removed = {
        str(kind.name): tx.execute(delete(kind).where(kind.c.job_id.in_(ids))).rowcount for kind in _OF_JOB
    }
    # What refers to a job goes before it.
    tx.execute(
        delete(dependencies).where(
            or_(dependencies.c.job_id.in_(ids), dependencies.c.predecessor_id.in_(ids))
        )
    )
    tx.execute(delete(jobs).where(jobs.c.job_id.in_(ids)))
    removed["jobs"] = tx.execute(delete(admissions).where(admissions.c.job_id.in_(ids))).rowcount
    return ids, removed | _remove_threads(tx, {row.thread_id for row in found})


def _remove_threads(tx: Connection, thread_ids: set[str]) -> dict[str, int]:
    """Remove the graphs' progress on threads that no job uses any more."""
    used = select(admissions.c.thread_id).where(admissions.c.thread_id.in_(thread_ids))
    left = thread_ids - {row.thread_id for row in tx.execute(used)}
    removed = {}
    for name in _progress(tx):
        kind = table(name, column("thread_id"))
        removed[_TOLD.get(name, name)] = tx.execute(delete(kind).where(kind.c.thread_id.in_(left))).rowcount
    return removed


def _progress(tx: Connection) -> Mapping[str, tuple[str, ...]]:
    return _POSTGRES_PROGRESS if is_postgres(tx) else _SQLITE_PROGRESS


def sizes(tx: Connection) -> dict[str, dict[str, int]]:
    """Rows and bytes of content by kind. Reads everything once: seconds where there are gigabytes."""
    measured: dict[str, tuple[Any, Sequence[Any]]] = {
        "jobs": (jobs, (jobs.c.output,)),
        "events": (events, (events.c.payload,)),
    }
    for name, columns in _progress(tx).items():
        kind = table(name, *map(column, columns))
        measured[_TOLD.get(name, name)] = kind, list(kind.c)
    found = {name: _measure(tx, kind, columns) for name, (kind, columns) in measured.items()}
    given = tx.execute(select(func.coalesce(func.sum(func.length(admissions.c.input)), 0))).scalar_one()
    found["jobs"]["bytes"] += int(given)
    kept = select(func.count(), func.coalesce(func.sum(artifacts.c.size_bytes), 0)).where(
        artifacts.c.removed_at.is_(None)
    )
    rows, size = tx.execute(kept).one()
    found["artifacts"] = {"rows": int(rows), "bytes": int(size)}
    return found


def _measure(tx: Connection, kind: Any, columns: Sequence[Any]) -> dict[str, int]:
    size = func.pg_column_size if is_postgres(tx) else func.length
    length = sum((func.coalesce(size(one), 0) for one in columns), start=0)
    row = tx.execute(select(func.count(), func.coalesce(func.sum(length), 0)).select_from(kind)).one()
    return {"rows": int(row[0]), "bytes": int(row[1])}


def unfinished(tx: Connection) -> int:
    """How many jobs have no outcome yet."""
    return int(
        tx.execute(
            select(func.count()).select_from(admissions).where(admissions.c.outcome.is_(None))
        ).scalar_one()
    )
