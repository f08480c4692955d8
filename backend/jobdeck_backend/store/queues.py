"""Which queues are paused."""

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert  # SQLite says it in the same words

from jobdeck_backend.store.tables import queues


def set_paused(tx: Connection, name: str, *, paused: bool, actor: str, now: float) -> None:
    """Pause or unpause one queue."""
    values = {"paused_at": now if paused else None, "paused_by": actor if paused else None}
    statement = insert(queues).values(name=name, **values)
    tx.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def paused(tx: Connection) -> dict[str, str]:
    """``queue → who paused it`` of every paused queue."""
    statement = select(queues.c.name, queues.c.paused_by).where(queues.c.paused_at.is_not(None))
    return {row[0]: row[1] for row in tx.execute(statement)}
