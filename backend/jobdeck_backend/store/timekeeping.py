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


def agree(tx: Connection, backend: str) -> ClockRow:
    """At a backend's start: go on in the time of those that live or of the jobs that wait, else begin anew."""
    row = load(tx)
    if row is None:
        row = ClockRow(uuid4().hex, clock.machine(), clock.anchor(), clock.now())
        tx.execute(clock_row.insert().values(asdict(row)))
        return row
    others = any(one.backend != backend for one in epochs.load_open(tx))
    if row.machine == clock.machine():
        pending = tx.execute(select(exists().where(jobs.c.status.in_(UNFINISHED)))).scalar_one()
        if pending or others:
            Follower().follow(tx)
            return row
    elif others:
        return row  # a living one will be heard within seconds: see ``Follower.keep``
    _set(tx)
    return row


def _set(tx: Connection) -> None:
    values = {"machine": clock.machine(), "anchor": clock.anchor(), "at": clock.now()}
    tx.execute(update(clock_row).values(**values))


class Follower:
    """One process going by the row."""

    def __init__(self) -> None:
        self._seen_at: float | None = None
        self._changed = time.monotonic()
        self.settled = False
        """Whether there is nothing more to be learnt: the row is of this machine."""

    def follow(self, tx: Connection) -> bool:
        """Correct this process's time where the row shows it wrong; answers whether it is known to be right.

        On another machine only a row that changed tells anything: it was kept just now.
        """
        row = None if self.settled else load(tx)
        if row is None:
            return True
        if row.machine == clock.machine():
            self.settled = True
            _adopt(row.anchor)
            return True
        before, self._seen_at = self._seen_at, row.at
        if before in {None, row.at}:
            return False
        self._changed = time.monotonic()
        # The row is a little old, never ahead: a time between it and its greatest age may be right.
        at_least = row.at - time.monotonic()
        if not 0 <= clock.anchor() - at_least <= KEPT_WITHIN_S:
            _adopt(at_least)
        return True

    def keep(self, tx: Connection) -> None:
        """A backend's side: say what time it is where the row is of this machine, else follow it.

        One that nobody keeps any more is taken over.
        """
        if self.follow(tx) and self.settled:
            tx.execute(update(clock_row).values(at=clock.now()))
        elif time.monotonic() - self._changed > KEPT_WITHIN_S:
            _set(tx)


def _adopt(anchor: float) -> None:
    off_s = clock.anchor() - anchor
    if abs(off_s) > TOLD_S:
        log.warning("the system's clock is off; the database's is used", off_by_s=round(off_s, 3))
    clock.adopt(anchor)
