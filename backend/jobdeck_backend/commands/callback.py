"""Telling a job's caller: owed from the transaction that ends or holds the job, settled attempt by attempt (R8).

A delivery leaves no event: it comes after the terminal status, which is the last of a job's log (R27). It is
shown on the record.
"""

from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import Connection

from jobdeck_backend.clock import iso
from jobdeck_backend.errors import NotEligible, NotFound
from jobdeck_backend.jobs.ids import job_path
from jobdeck_backend.jobs.lifecycle import OUTCOMES, Verb
from jobdeck_backend.jobs.records import Admission, Job, Notification, NotificationState
from jobdeck_backend.store import events, notifications

if TYPE_CHECKING:  # operators needs this module, by way of every transition
    from jobdeck_backend.commands.operators import By, Perform

TEXT_CHARS_MAX = 4_000


def owe(
    tx: Connection,
    job: Job,
    verb: Verb,
    reason: str | None,
    now: float,
    *,
    url: str,
    deadline: float | None,
) -> None:
    """Put on record that the caller is to be told of ``verb``, an end or a hold. ``job`` is as it left it."""
    body = {
        "job_id": job.job_id,
        "event": verb,
        "outcome": OUTCOMES.get(verb),
        "status": job.status,
        "reason": _shown(reason),
        "error": _shown(job.error),
        "deadline": None if deadline is None else iso(deadline),
        "finished_at": iso(now) if verb in OUTCOMES else None,
        "attempt": job.attempt,
        "version": job.version,
        "report_url": f"{job_path(job.job_id)}/report" if verb is Verb.SUCCEED else None,
    }
    owed = Notification(
        id=str(uuid4()),
        job_id=job.job_id,
        name=verb,
        url=url,
        body=events.encode(body),
        state=NotificationState.PENDING,
        attempts=0,
        created_at=now,
        next_at=now,
    )
    notifications.insert(tx, owed)


def _shown(text: str | None) -> str | None:
    if text is None or len(text) <= TEXT_CHARS_MAX:
        return text
    return text[:TEXT_CHARS_MAX] + "…"


def delivered(tx: Connection, taken: Notification, now: float) -> bool:
    """The receiver confirmed it."""
    columns = {"state": NotificationState.DELIVERED, "next_at": None, "delivered_at": now, "last_error": None}
    return notifications.settle(tx, taken, **columns)


def attempt_failed(tx: Connection, taken: Notification, error: str, next_at: float | None) -> bool:
    """It was not confirmed: tried again at ``next_at``, or given up when that is None."""
    state = NotificationState.FAILED if next_at is None else NotificationState.PENDING
    return notifications.settle(tx, taken, state=state, next_at=next_at, last_error=error)


def send_again(notification_id: str) -> "Perform":
    """The act of sending once more what was given up: the same body under the same id.

    One more attempt, whatever the number of those before; where it fails too, it is given up again.
    """

    def perform(tx: Connection, _admission: Admission, job: Job, by: "By") -> str:
        found = notifications.load(tx, notification_id)
        if found is None or found.job_id != job.job_id:
            raise NotFound(f"job {job.job_id} has no notification {notification_id}")
        if not notifications.reopen(tx, notification_id, by.now):
            raise NotEligible(
                f"the notification of {found.name} is {found.state}; only one that was given up is sent again"
            )
        return f"{found.name} is sent again"

    return perform
