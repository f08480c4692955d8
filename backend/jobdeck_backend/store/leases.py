"""Leases: who may do something alone. The epoch rises at each takeover and at each fresh start (R17)."""

from collections.abc import Callable
from dataclasses import asdict, replace

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert  # SQLite says it in the same words

from jobdeck_backend.errors import LeaseLost
from jobdeck_backend.jobs.records import Lease
from jobdeck_backend.store.engine import locks
from jobdeck_backend.store.tables import leases

_INSERT = (
    insert(leases).on_conflict_do_nothing(index_elements=["role"]).execution_options(preserve_rowcount=True)
)

# Built once: asked for in each of thousands of recovery's writes.
_LOAD = select(leases).where(leases.c.role == bindparam("the_role"))
_LOCK = _LOAD.with_for_update()


def load(tx: Connection, role: str) -> Lease | None:
    """The lease of a role as it stands. Nobody else changes it until the end of a transaction that writes."""
    row = tx.execute(_LOCK if locks(tx) else _LOAD, {"the_role": role}).first()
    return None if row is None else Lease(**dict(row._mapping))


def acquire(
    tx: Connection, role: str, owner: str, now: float, ttl_s: float, *, is_gone: Callable[[str], bool]
) -> Lease | None:
    """Take or renew the lease; None while another owner holds it who may still live.

    ``is_gone`` tells of a former owner whether it certainly ended: then nobody waits for its time to run out.
    """
    held = load(tx, role)
    if held is None:
        lease = Lease(role, owner, 1, now, now + ttl_s)
        taken = tx.execute(_INSERT, asdict(lease)).rowcount == 1
        return lease if taken else None
    takeover = held.owner != owner
    if takeover and held.expires_at > now and not is_gone(held.owner):
        return None
    if takeover:
        lease = Lease(role, owner, held.epoch + 1, now, now + ttl_s, taken_from=held.owner)
    else:
        lease = replace(held, expires_at=now + ttl_s)
    tx.execute(update(leases).where(leases.c.role == role).values(asdict(lease)))
    return lease


def release(tx: Connection, lease: Lease, now: float) -> None:
    """Let the next owner begin at once."""
    mine = (leases.c.role == lease.role) & (leases.c.owner == lease.owner) & (leases.c.epoch == lease.epoch)
    tx.execute(update(leases).where(mine).values(expires_at=now))


def next_epoch(tx: Connection, role: str, owner: str, now: float) -> int:
    """A new epoch for a role that its owner starts afresh (a scheduler of its own)."""
    values = {"owner": owner, "acquired_at": now, "expires_at": now}
    tx.execute(_INSERT, {"role": role, "epoch": 0, **values})
    statement = update(leases).where(leases.c.role == role).values(epoch=leases.c.epoch + 1, **values)
    return int(tx.execute(statement.returning(leases.c.epoch)).scalar_one())


def check(tx: Connection, lease: Lease, now: float) -> None:
    """Raises ``LeaseLost``, naming the holder, unless ``lease`` is still the one in force."""
    held = load(tx, lease.role)
    if held is None or held.owner != lease.owner or held.epoch != lease.epoch or held.expires_at <= now:
        holder = "nobody" if held is None else f"{held.owner} (epoch {held.epoch})"
        raise LeaseLost(f"the {lease.role} lease of epoch {lease.epoch} is over; it is held by {holder}")
