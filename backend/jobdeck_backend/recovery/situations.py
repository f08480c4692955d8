"""Joins the three records of each job that may need something done, and what is known of its worker."""

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt, Status
from jobdeck_backend.recovery.plan import Bounds, Situation
from jobdeck_backend.store import progress, recovery
from jobdeck_backend.store.recovery import Candidate

WorkerGone = Callable[[Attempt], str | None]
"""What took an attempt's worker, or None while it may live."""

Planned = Mapping[tuple[str, int], float]
"""By job and fence, since when its recovery is planned and not done."""


def look(
    tx: Connection, worker_gone: WorkerGone, bounds: Bounds, planned: Planned, *, with_held: bool
) -> list[Situation]:
    """Every situation a plan is about; ``with_held``: jobs that wait for a person, too."""
    found = recovery.candidates(tx, now(), with_held=with_held)
    gone = {one.job.job_id: worker_gone(one.attempt) for one in found if one.attempt}
    lost = [one for one in found if _may_be_lost(one, gone, bounds)]
    checkpoints = {one.job.job_id: progress.newest(tx, one.thread_id, one.job.job_id) for one in lost}
    situations = []
    for one in found:
        job_id = one.job.job_id
        checkpoint = checkpoints.get(job_id)
        situations.append(
            Situation(
                one.job,
                one.deadline,
                one.attempt,
                worker_gone=gone.get(job_id) is not None,
                loss=gone.get(job_id) or "",
                lost_attempts=one.lost_attempts,
                last_stage=one.last_stage,
                checkpoint_id=checkpoint.checkpoint_id if checkpoint else one.checkpoint_id,
                graph_finished=checkpoint is not None and checkpoint.finished,
                unknown_effect=one.unknown_effect,
                planned_since=planned.get((job_id, one.job.fence)),
            )
        )
    return situations


def _may_be_lost(one: Candidate, gone: Mapping[str, str | None], bounds: Bounds) -> bool:
    """Whether its checkpoint is read: it may be large, and most jobs simply run."""
    if one.job.status is not Status.RUNNING:
        return False
    if one.attempt is None or gone[one.job.job_id] is not None:
        return True
    # Early enough: by the time the plan looks at the clock it may have become stale.
    return now() - one.attempt.heartbeat_at >= bounds.heartbeat_stale_s / 2
