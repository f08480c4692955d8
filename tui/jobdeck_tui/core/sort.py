"""The orders of the job table. Keys are single numbers or strings: 100,000 rows sort fast."""

from collections.abc import Callable, Iterable

from jobdeck_tui.client.models import FINISHED, Job

from .columns import display_state, left_seconds, note

RECENT_FAILURE_SECONDS = 15 * 60.0
_GROUP = 1e11
"""Wider than any time or difference of times in a key, so that groups never mix."""

STATE_RANK = {
    state: rank
    for rank, state in enumerate(
        (
            "ghost",
            "held",
            "failed",
            "cancelling",
            "running",
            "assigned",
            "queued",
            "waiting",
            "backlog",
            "expired",
            "cancelled",
            "succeeded",
        )
    )
}
COLUMN_KEYS = ("risk", "id", "state", "queue", "left", "slack", "agent", "try", "worker", "age", "note")

Key = Callable[[Job], float] | Callable[[Job], str]


def risk(job: Job, now: float) -> float:
    """Give the place in the default order; smaller is nearer the top.

    Over its deadline first (most over on top), then what needs a person (failed in the last quarter of an
    hour, or held), then least time left, then without a deadline (oldest first), then finished (newest
    first).
    """
    state, deadline = job.state, job.deadline  # no call from here on: this is asked of every job, each second
    if state in FINISHED:
        ended = job.finished_at
        if state == "failed" and ended is not None and now - ended <= RECENT_FAILURE_SECONDS:
            return _GROUP - ended
        return 6 * _GROUP - (ended or job.accepted_at)
    if deadline is not None and deadline <= now:
        return deadline - now
    if state == "held":
        return 2 * _GROUP + job.accepted_at
    if deadline is not None:
        return 3 * _GROUP + deadline - now
    return 4 * _GROUP + job.accepted_at


def order(jobs: Iterable[Job], column: str, now: float, *, reverse: bool = False) -> list[Job]:
    """Sort jobs by a column of ``COLUMN_KEYS``, ``now`` in Unix seconds; equal ones keep their order.

    Raises:
        KeyError: there is no such column.
    """
    return sorted(jobs, key=_key(column, now), reverse=reverse)


def next_column(column: str, step: int = 1) -> str:
    """Give the column that ``s`` goes to next."""
    at = COLUMN_KEYS.index(column) if column in COLUMN_KEYS else 0
    return COLUMN_KEYS[(at + step) % len(COLUMN_KEYS)]


def _key(column: str, now: float) -> Key:
    none_last = float("inf")

    def left(job: Job) -> float:
        seconds = left_seconds(job, now)
        return none_last if seconds is None else seconds

    keys: dict[str, Key] = {
        "risk": lambda job: risk(job, now),
        "id": lambda job: job.job_id,
        "state": lambda job: STATE_RANK.get(display_state(job), len(STATE_RANK)),
        "queue": lambda job: job.queue,
        "left": left,
        "slack": lambda job: none_last if job.slack is None or job.finished else job.slack,
        "agent": lambda job: job.workflow,
        "try": lambda job: -job.attempt,
        "worker": lambda job: job.worker or "\U0010ffff",
        "age": lambda job: -job.accepted_at,
        "note": lambda job: note(job) or "\U0010ffff",
    }
    return keys[column]
