"""Databases with more jobs than anybody would submit one by one: most have ended, some wait for their queue."""

from collections.abc import Callable
from pathlib import Path

from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.jobs.records import NO_DEADLINE, Status
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from jobdeck_backend.store.tables import admissions, attempts, jobs

ENDS = {"succeeded": Status.SUCCESS, "failed": Status.FAILURE, "cancelled": Status.INTERRUPTED}
PAUSED = "paused"
QUEUES = 7
WAITING_EACH = 50
"""One job in so many waits, in a paused queue; the others have ended, one in ten of them not well."""


def fill(state_dir: Path, count: int, id_of: Callable[[int], str] = "many-{:06d}".format) -> None:
    """Write ``count`` jobs of the last day into the database of a state directory; ``id_of``: a job's number."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(state_dir / "jobdeck.db", synchronous="NORMAL")
    migrate(database)
    at = now()
    rows = [_rows(number, id_of(number), at - 86_400 * (1 - number / count), at) for number in range(count)]
    with database.write() as tx:
        operators.set_paused(tx, PAUSED, paused=True, actor="operator", reason=None, now=at)
        tx.execute(admissions.insert(), [admission for admission, _, _ in rows])
        tx.execute(jobs.insert(), [job for _, job, _ in rows])
        tx.execute(attempts.insert(), [attempt for _, _, attempt in rows if attempt is not None])
    database.close()


def _rows(number: int, job_id: str, accepted: float, at: float) -> tuple[dict, dict, dict | None]:
    waits = number % WAITING_EACH == 0
    outcome = (
        None
        if waits
        else ("failed" if number % 10 == 1 else "cancelled" if number % 10 == 2 else "succeeded")
    )
    deadline = at + 3600 + number if waits else accepted + 60
    admission = {
        "job_id": job_id,
        "thread_id": job_id,
        "agent_type": "probe",
        "queue": PAUSED if waits else f"queue-{number % QUEUES}",
        "input": "{}",
        "request_hash": "0" * 64,
        "expiry_seconds": 86_400,
        "deadline": deadline,
        "priority": 0,
        "after_policy": "succeeded",
        "accepted_at": accepted,
        "outcome": outcome,
        "outcome_reason": "in vain" if outcome == "failed" else None,
        "finished_at": None if waits else accepted + 5,
    }
    job = {
        "job_id": job_id,
        "status": Status.SUBMITTED if outcome is None else ENDS[outcome],
        "attempt": 0 if waits else 1,
        "dispatch_deadline": deadline if waits else NO_DEADLINE,
        "priority": 0,
        "accepted_at": accepted,
        "dependent": False,
        "worker": None if waits else "w0-e1",
        "note": None if waits else "writing section 3/7",
        "stages_done": 0 if waits else 3,
    }
    attempt = {
        "job_id": job_id,
        "attempt": 1,
        "fence": 1,
        "worker": "w0-e1",
        "pid": 1,
        "epoch": 1,
        "started_at": accepted + 1,
        "heartbeat_at": accepted + 4,
        "ended_at": accepted + 5,
        "end_reason": outcome,
    }
    return admission, job, None if waits else attempt
