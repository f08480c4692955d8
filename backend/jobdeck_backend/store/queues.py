"""Which queues are paused."""

from sqlalchemy import Connection, select, update

from jobdeck_backend.store.tables import queues


def set_paused(tx: Connection, name: str, *, paused: bool, actor: str, now: float) -> None:
    """Pause or unpause one queue."""
    values = {"paused_at": now if paused else None, "paused_by": actor if paused else None}
    if tx.execute(update(queues).where(queues.c.name == name).values(**values)).rowcount == 0:
        tx.execute(queues.insert().values(name=name, **values))


def paused(tx: Connection) -> dict[str, str]:
    """``queue → who paused it`` of every paused queue."""
    statement = select(queues.c.name, queues.c.paused_by).where(queues.c.paused_at.is_not(None))
    return {row[0]: row[1] for row in tx.execute(statement)}
