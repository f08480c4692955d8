"""A backend's hold on its scheduler, on record: what it was given is good as long as that lasts.

Several backends may share a database, each with a scheduler of its own or on one that they share.
"""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from jobdeck_backend.jobs.records import Epoch
from jobdeck_backend.store import dispatch, epochs, leases
from jobdeck_backend.store.timekeeping import KEEP_S, Follower

ROLE = "scheduler"
SILENT_S = 3 * KEEP_S
"""Unseen for so long, a backend counts as gone: others take back what it had handed over."""


def enter(tx: Connection, backend: str, now: float) -> None:
    """A backend starts: its former self is gone, and with it the embedded processes."""
    _end_gone(tx, [one for one in epochs.load_open(tx) if one.backend == backend], now)


def begin(tx: Connection, backend: str, owner: str, now: float, *, embedded: bool) -> int:
    """A new epoch of this backend, its former one being over. Answers its number."""
    enter(tx, backend, now)
    number = leases.next_epoch(tx, ROLE, owner, now)
    epochs.insert(tx, Epoch(number, backend, owner, embedded, None, now, now))
    return number


def attach(tx: Connection, epoch: int, scheduler_id: str) -> int:
    """The epoch's scheduler is up: return what ended epochs held to the backlog. Answers how many jobs."""
    epochs.attach(tx, epoch, scheduler_id)
    return dispatch.take_back_other_epochs(tx, epoch)


def end(tx: Connection, epoch: int, reason: str, now: float) -> int:
    """Its scheduler is lost: what its workers still do counts no more. Answers how many jobs were taken back."""
    epochs.end(tx, [epoch], now, reason, workers_gone=True)
    return dispatch.take_back_other_epochs(tx, epoch=None)


def renew(tx: Connection, epoch: int, now: float, *, keeper: Follower, is_gone: Callable[[str], bool]) -> int:
    """Say that this backend lives, and end the epochs of those that do not. Answers how many jobs were taken back.

    ``is_gone`` tells of an owner whether its process certainly ended; one that is only silent may come back,
    and its workers are left to their heartbeats.
    """
    epochs.renew(tx, epoch, now)
    keeper.keep(tx)
    gone = [one for one in epochs.load_open(tx) if one.epoch != epoch and is_gone(one.owner)]
    _end_gone(tx, gone, now)
    silent = [
        one.epoch for one in epochs.load_open(tx) if one.epoch != epoch and now - one.seen_at > SILENT_S
    ]
    epochs.end(tx, silent, now, "its backend is silent", workers_gone=False)
    return dispatch.take_back_other_epochs(tx, epoch) if gone or silent else 0


def _end_gone(tx: Connection, gone: Sequence[Epoch], now: float) -> None:
    """Embedded processes end with their backend; external workers go on, and may be met again."""
    for one in gone:
        epochs.end(tx, [one.epoch], now, "its backend ended", workers_gone=one.embedded)
