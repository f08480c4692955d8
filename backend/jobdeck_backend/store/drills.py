"""Drills on record, each one JSON document."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert  # SQLite says it in the same words

from jobdeck_backend.jobs.records import UNFINISHED
from jobdeck_backend.store.tables import admissions, attempts, drills, effects, jobs, stages

LISTED_MAX = 100


def save(tx: Connection, drill_id: str, started_at: float, record: dict[str, Any]) -> None:
    """Store a drill as it stands now."""
    row = {"id": drill_id, "started_at": started_at, "record": orjson.dumps(record).decode()}
    statement = insert(drills).values(row)
    tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"record": row["record"]}))


def load(tx: Connection, drill_id: str) -> dict[str, Any] | None:
    """One drill, or None."""
    text = tx.execute(select(drills.c.record).where(drills.c.id == drill_id)).scalar_one_or_none()
    return None if text is None else orjson.loads(text)


def newest(tx: Connection) -> list[dict[str, Any]]:
    """The newest drills, newest first."""
    statement = select(drills.c.record).order_by(drills.c.started_at.desc()).limit(LISTED_MAX)
    return [orjson.loads(text) for text in tx.execute(statement).scalars()]


def unfinished_stages(tx: Connection) -> list[tuple[str, str, int, str]]:
    """``(job_id, node, step, output_hash)`` of every completed stage of unfinished jobs, in order of steps."""
    statement = (
        select(stages.c.job_id, stages.c.node, stages.c.step, stages.c.output_hash)
        .join(jobs, jobs.c.job_id == stages.c.job_id)
        .where(jobs.c.status.in_(UNFINISHED))
        .order_by(stages.c.job_id, stages.c.step)
    )
    return [(row[0], row[1], row[2], row[3]) for row in tx.execute(statement)]


def intents(tx: Connection, keys: Sequence[str]) -> dict[str, int]:
    """How often each of these effects was about to be called."""
    statement = select(effects.c.key, effects.c.intents).where(effects.c.key.in_(keys))
    return {row[0]: row[1] for row in tx.execute(statement)}


def overtaken_writes(tx: Connection, job_id: str, attempt: int) -> int:
    """Stages that an execution put on record after it had been taken away from it: none, if fences hold."""
    statement = (
        select(func.count())
        .select_from(stages)
        .join(attempts, (attempts.c.job_id == stages.c.job_id) & (attempts.c.attempt == stages.c.attempt))
        .where(stages.c.job_id == job_id, stages.c.attempt == attempt)
        .where(stages.c.completed_at > attempts.c.ended_at)
    )
    return int(tx.execute(statement).scalar_one())


def accepted(tx: Connection) -> int:
    """How many jobs were ever accepted and are on record."""
    return int(tx.execute(select(func.count()).select_from(admissions)).scalar_one())


def last_sequences(tx: Connection, job_ids: Sequence[str]) -> dict[str, int]:
    """The number of the newest event of each of these jobs."""
    statement = select(jobs.c.job_id, jobs.c.event_seq).where(jobs.c.job_id.in_(job_ids))
    return {row[0]: row[1] for row in tx.execute(statement)}
