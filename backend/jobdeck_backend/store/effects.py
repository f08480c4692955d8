"""Statements on the effects ledger."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select, update

from jobdeck_backend.jobs.records import UNFINISHED, Effect, EffectState
from jobdeck_backend.store.prepared import Prepared
from jobdeck_backend.store.tables import effects, jobs

_EFFECT = [effects.c[field.name] for field in fields(Effect)]
# Built once: each job that is taken from a lost execution asks for it.
_LEAVE_UNCERTAIN = (
    update(effects)
    .where(effects.c.job_id == bindparam("id"), effects.c.state == EffectState.INTENT)
    .values(state=EffectState.UNCERTAIN)
)
OPEN = (EffectState.INTENT, EffectState.UNCERTAIN)
_OPEN_OF_JOB = Prepared(
    select(*_EFFECT)
    .where(effects.c.job_id == bindparam("id"), or_(*(effects.c.state == state for state in OPEN)))
    .order_by(effects.c.intent_at)
)


def _effect(row: Sequence[Any]) -> Effect:
    values = dict(zip((column.name for column in _EFFECT), row, strict=True))
    return Effect(**{**values, "state": EffectState(values["state"])})


def load(tx: Connection, key: str) -> Effect | None:
    """One effect, or None."""
    row = tx.execute(select(*_EFFECT).where(effects.c.key == key)).first()
    return None if row is None else _effect(row)


def insert(tx: Connection, effect: Effect) -> None:
    """Put a first intent on record."""
    tx.execute(effects.insert(), asdict(effect))


def change(tx: Connection, key: str, expected: Sequence[EffectState], **columns: Any) -> bool:
    """Change an effect that is in one of the expected states; False when it moved on."""
    statement = update(effects).where(effects.c.key == key, effects.c.state.in_(expected))
    return tx.execute(statement.values(**columns)).rowcount == 1


def of_job(tx: Connection, job_id: str) -> list[Effect]:
    """A job's effects in the order of their intents."""
    statement = (
        select(*_EFFECT).where(effects.c.job_id == job_id).order_by(effects.c.intent_at, effects.c.key)
    )
    return [_effect(row) for row in tx.execute(statement)]


def open_of_job(tx: Connection, job_id: str) -> list[Effect]:
    """A job's effects of which nobody knows yet whether they happened."""
    return [_effect(row) for row in _OPEN_OF_JOB.rows(tx, {"id": job_id})]


def of_unfinished(tx: Connection) -> list[Effect]:
    """Every effect of unfinished jobs."""
    unfinished = select(jobs.c.job_id).where(jobs.c.status.in_(UNFINISHED))
    return [_effect(row) for row in tx.execute(select(*_EFFECT).where(effects.c.job_id.in_(unfinished)))]


def leave_uncertain(tx: Connection, job_ids: Sequence[str]) -> None:
    """Whoever could have told the outcome of these jobs' open intents is gone."""
    if job_ids:
        tx.execute(_LEAVE_UNCERTAIN, [{"id": job_id} for job_id in job_ids])
