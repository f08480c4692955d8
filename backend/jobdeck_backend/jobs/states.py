"""Where a job is, told from its record and from what Dask says of its key.

Dask is an engine, never a record: without its picture a delivered job stays what the record alone tells.
"""

from enum import StrEnum

from jobdeck_backend.jobs.records import Status


class State(StrEnum):
    """The operator's words for where a job is; the last four are its outcomes."""

    BACKLOG = "backlog"
    WAITING = "waiting"
    QUEUED = "queued"
    ASSIGNED = "assigned"
    RUNNING = "running"
    HELD = "held"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


FINISHED = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED})

# A task that a worker has, or that returned from one without a claim on record yet.
_WITH_A_WORKER = frozenset({"processing", "memory"})


def state_of(
    *,
    status: str,
    outcome: str | None,
    held: bool,
    delivered: bool,
    blocked: bool,
    dask_state: str | None,
) -> State:
    """The state of one job.

    ``blocked``: something it waits for is unfinished. ``dask_state``: the state of its key, None when Dask does
    not know it or cannot be asked.
    """
    if outcome is not None:
        return State(outcome)
    if status == Status.RUNNING:
        return State.RUNNING
    if held:
        return State.HELD
    if delivered and dask_state in _WITH_A_WORKER:
        return State.ASSIGNED
    if blocked or (delivered and dask_state == "waiting"):
        return State.WAITING
    return State.QUEUED if delivered else State.BACKLOG
