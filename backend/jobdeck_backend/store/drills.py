"""Drills on record, each one JSON document."""

from typing import Any

import orjson
from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert  # SQLite says it in the same words

from jobdeck_backend.jobs.records import UNFINISHED
from jobdeck_backend.store.tables import drills, jobs, stages

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
