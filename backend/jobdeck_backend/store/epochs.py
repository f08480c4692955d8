"""Epochs on record: which scheduler each backend uses, and whether that is over."""

import re
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, select, update

from jobdeck_backend.jobs.records import Epoch
from jobdeck_backend.store.tables import epochs

_OPEN = epochs.c.ended_at.is_(None)
_MARK = select(epochs.c.epoch, epochs.c.started_at)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def insert(tx: Connection, epoch: Epoch) -> None:
    """Begin an epoch."""
    tx.execute(epochs.insert().values(asdict(epoch)))


def load(tx: Connection, epoch: int) -> Epoch | None:
    """The epoch of that number."""
    row = tx.execute(select(epochs).where(epochs.c.epoch == epoch)).first()
    return None if row is None else Epoch(**dict(row._mapping))


def load_open(tx: Connection) -> list[Epoch]:
    """Those that are not over, oldest first."""
    return [
        Epoch(**dict(row._mapping))
        for row in tx.execute(select(epochs).where(_OPEN).order_by(epochs.c.epoch))
    ]


def newest_mark(tx: Connection) -> str:
    """The newest epoch's mark: another database has another one, and so has a restored copy once it went on by
    itself. Empty where none has begun."""
    row = tx.execute(_MARK.order_by(epochs.c.epoch.desc()).limit(1)).first()
    return "" if row is None else _mark(*row)


def has_mark(tx: Connection, mark: str) -> bool:
    """Whether that mark is one of this database's epochs."""
    number = mark.partition("-")[0]
    if not _NUMBER.fullmatch(number):
        return False
    row = tx.execute(_MARK.where(epochs.c.epoch == int(number))).first()
    return row is not None and _mark(*row) == mark


def _mark(epoch: int, started_at: float) -> str:
    return f"{epoch}-{started_at * 1e6:.0f}"


def attach(tx: Connection, epoch: int, scheduler_id: str) -> None:
    """Put on record which scheduler it is."""
    tx.execute(update(epochs).where(epochs.c.epoch == epoch).values(scheduler_id=scheduler_id))


def renew(tx: Connection, epoch: int, now: float) -> None:
    """Its backend lives; an end that others presumed is taken back."""
    mine = (epochs.c.epoch == epoch) & epochs.c.workers_gone.is_(False)
    tx.execute(update(epochs).where(mine).values(seen_at=now, ended_at=None, end_reason=None))


def end(tx: Connection, numbers: Sequence[int], now: float, reason: str, *, workers_gone: bool) -> None:
    """They are over; ``workers_gone``: whatever their workers still run counts as lost."""
    tx.execute(
        update(epochs)
        .where(epochs.c.epoch.in_(numbers), _OPEN)
        .values(ended_at=now, end_reason=reason, workers_gone=workers_gone)
    )


def sharing(tx: Connection, scheduler_id: str) -> set[int]:
    """All epochs, of any backend and any time, on one scheduler."""
    return set(tx.execute(select(epochs.c.epoch).where(epochs.c.scheduler_id == scheduler_id)).scalars())
