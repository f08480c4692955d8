"""What attempts leave beside the job's record, and which of them a worker is busy with."""

from sqlalchemy import Connection, bindparam, func, select, update

from jobdeck_backend.jobs.records import Aside, Status
from jobdeck_backend.store.tables import attempts, jobs

_KEEP_ASIDE = update(attempts).where(
    attempts.c.job_id == bindparam("expected_id"), attempts.c.attempt == bindparam("expected_attempt")
)
_ASIDE = select(
    attempts.c.attempt,
    func.substr(attempts.c.late_output, 1, bindparam("chars_max")),
    func.length(attempts.c.late_output),
    attempts.c.traceback,
).where(
    attempts.c.job_id == bindparam("id"),
    attempts.c.late_output.is_not(None) | attempts.c.traceback.is_not(None),
)
_RUNNING_ON = (
    select(func.count())
    .select_from(attempts)
    .join(jobs, jobs.c.job_id == attempts.c.job_id)
    .where(attempts.c.ended_at.is_(None), attempts.c.worker == bindparam("worker"))
    .where(jobs.c.status == Status.RUNNING)
)


def keep_aside(
    tx: Connection, job_id: str, attempt: int, *, late_output: str | None = None, traceback: str | None = None
) -> None:
    """Store what an execution left: a result that came too late, or where it failed."""
    expected = {"expected_id": job_id, "expected_attempt": attempt}
    texts = {"late_output": late_output, "traceback": traceback}
    tx.execute(_KEEP_ASIDE, expected | {name: text for name, text in texts.items() if text is not None})


def load_aside(tx: Connection, job_id: str, chars_max: int) -> dict[int, Aside]:
    """By attempt what was kept aside, of a result the first ``chars_max`` characters; most left nothing."""
    rows = tx.execute(_ASIDE, {"id": job_id, "chars_max": chars_max})
    return {row[0]: Aside(*row[1:]) for row in rows}


def running_on(tx: Connection, worker: str) -> int:
    """How many jobs are running on a worker; threads whose job was taken from them do not count."""
    return int(tx.execute(_RUNNING_ON, {"worker": worker}).scalar_one())
