"""The clock row: what all processes of a database go by, whatever their own system's clock says (R11).

On the machine that set it, a process takes its anchor over and agrees to the microsecond. Elsewhere it can only
see what time it was when the row was kept last, which backends do every ``KEEP_S``.
"""

import time
from dataclasses import asdict, dataclass
from uuid import uuid4

import structlog
from sqlalchemy import Connection, exists, select, update

from jobdeck_backend import clock
from jobdeck_backend.jobs.records import UNFINISHED
from jobdeck_backend.store import epochs
from jobdeck_backend.store.tables import clock as clock_row
from jobdeck_backend.store.tables import jobs

log = structlog.get_logger(__name__)

KEEP_S = 5.0
# As old as the row can be while a backend keeps it.
KEPT_WITHIN_S = 3 * KEEP_S
# Less than this is not worth a line in the log.
TOLD_S = 1.0


@dataclass(frozen=True, slots=True)
class ClockRow:
    """``anchor`` is that of the processes on ``machine``; ``at`` is when a backend kept the row last."""

    database_id: str
    machine: str
    anchor: float
    at: float


def load(tx: Connection) -> ClockRow | None:
    """The row; None in a database that no backend has used."""
    row = tx.execute(select(clock_row)).first()
    return None if row is None else ClockRow(*row)


def keep(tx: Connection) -> None:
    """Say what time it is."""
    tx.execute(update(clock_row).values(at=clock.now()))


def agree(tx: Connection) -> ClockRow:
    """At a backend's start: go on in the time of those that live or of the jobs that wait, else begin anew."""
    row = load(tx)
    if row is None:
        row = ClockRow(uuid4().hex, clock.machine(), clock.anchor(), clock.now())
        tx.execute(clock_row.insert().values(asdict(row)))
        return row
    pending = tx.execute(select(exists().where(jobs.c.status.in_(UNFINISHED)))).scalar_one()
    others = bool(epochs.load_open(tx))
    if (row.machine == clock.machine() and pending) or others:
        Follower().follow(tx)
    else:
        values = {"machine": clock.machine(), "anchor": clock.anchor(), "at": clock.now()}
        tx.execute(update(clock_row).values(**values))
    return row


class Follower:
    """One process going by the row."""

    def __init__(self) -> None:
        self._seen_at: float | None = None
        self.settled = False
        """Whether there is nothing more to be learnt: the row is of this machine."""

    def follow(self, tx: Connection) -> None:
        """Correct this process's time where the row shows it wrong. Does nothing once ``settled``."""
        row = None if self.settled else load(tx)
        if row is None or row.at == self._seen_at:
            return
        self._seen_at = row.at
        if row.machine == clock.machine():
            self.settled = True
            self._adopt(row.anchor)
            return
        # The row is a little old, never ahead: a time between it and its greatest age may be right.
        at_least = row.at - time.monotonic()
        if not 0 <= clock.anchor() - at_least <= KEPT_WITHIN_S:
            self._adopt(at_least)

    def _adopt(self, anchor: float) -> None:
        off_s = clock.anchor() - anchor
        if abs(off_s) > TOLD_S:
            log.warning("the system's clock is off; the database's is used", off_by_s=round(off_s, 3))
        clock.adopt(anchor)
