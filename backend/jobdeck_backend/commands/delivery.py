"""Handing jobs to Dask, on record before Dask is told: a crash between the two loses nothing."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from jobdeck_backend.jobs.records import Delivery
from jobdeck_backend.store import dispatch, events

DEPENDENTS_MAX = 100


def deliver(
    tx: Connection,
    *,
    epoch: int,
    room: int,
    pending: Collection[str],
    urgent_room: int,
    now: float,
    only: Collection[str] | None = None,
) -> tuple[list[Delivery], int]:
    """Mark and return the jobs to hand over, the most urgent first, at most ``room``; and the log's last
    position: what happened up to there is older than the delivery.

    With no room left, up to ``urgent_room`` jobs go that are more urgent than something already delivered.
    Dependents go beside the window once all they wait for is finished or in ``pending`` (jobs whose keys Dask
    holds). ``only``: of those that wait for no other, these alone are looked at.
    """
    if room > 0:
        independent = dispatch.next_independent(tx, room, only=only)
    else:
        before = dispatch.least_urgent_delivered(tx)
        independent = dispatch.next_independent(tx, urgent_room, before=before, only=only)
    dispatch.mark_delivered(tx, [one.job_id for one in independent], epoch, now)
    going = {*pending, *(one.job_id for one in independent)}
    dependent: list[Delivery] = []
    # Link by link: what goes now lets those go that wait for nothing else.
    while ready := dispatch.next_dependent(tx, DEPENDENTS_MAX - len(dependent), going):
        dispatch.mark_delivered(tx, [one.job_id for one in ready], epoch, now)
        going.update(one.job_id for one in ready)
        dependent += ready
    return independent + dependent, events.last_position(tx)


def take_back(tx: Connection, job_ids: Sequence[str]) -> None:
    """Return jobs to the backlog that Dask turned out not to hold."""
    dispatch.take_back(tx, job_ids)


def take_back_unstarted(tx: Connection, job_ids: Sequence[str]) -> list[str]:
    """Return those to the backlog that nobody has started; answers which."""
    unstarted = sorted(dispatch.unstarted(tx, job_ids))
    dispatch.take_back(tx, unstarted)
    return unstarted
