"""Jobs and snapshots as the deck's tests need them."""

from dataclasses import replace

from jobdeck_tui.client.models import DaskPicture, DaskWorker, Job, Overview, Scheduler
from jobdeck_tui.client.storage import StorageState

NOW = 1_800_000_000.0

_JOB = Job(
    job_id="64e50cad-0000-4000-8000-000000000000",
    queue="research",
    workflow="deep_research",
    state="queued",
    status="submitted",
    outcome=None,
    reason=None,
    deadline=NOW + 151,
    predicted_finish=None,
    slack=None,
    priority=0,
    attempt=1,
    epoch=1,
    worker=None,
    stage=None,
    stages_done=0,
    stages_total=None,
    heartbeat_age=None,
    version=3,
    accepted_at=NOW - 60,
    started_at=None,
    finished_at=None,
    cancel_requested_at=None,
    cancel_acknowledged_at=None,
    slot_taken=False,
    after=(),
    thread_id="thread-1",
    note=None,
    error=None,
)


def job(**changes):
    """Give a queued job, changed as told; a finished state brings its finish and outcome along."""
    if changes.get("state") in ("succeeded", "failed", "cancelled", "expired"):
        changes = {"finished_at": NOW - 5, "outcome": changes["state"], **changes}
    return replace(_JOB, **changes)


def overview(
    *, delivered=0, running=0, workers=2, state="up", scheduler_id="Scheduler-a", finished=0, slots_taken=None
):
    """Give a snapshot whose scheduler is up."""
    return Overview(
        at=NOW,
        scheduler=Scheduler(state, "tcp://127.0.0.1:1", 1, scheduler_id, 0.1, "http://127.0.0.1:2"),
        workers=workers,
        slots_total=workers,
        slots_taken=running if slots_taken is None else slots_taken,
        counts={"running": running, "succeeded": finished},
        delivered=delivered,
        drain_seconds=None,
        paused=(),
        drills_allowed=True,
        read_only=False,
        storage=StorageState("ok", None),
    )


def picture(*, processing=0, queued=0, workers=2, scheduler_id="Scheduler-a", read_at=NOW):
    """Give what Dask's dashboard says."""
    return DaskPicture(
        scheduler_id=scheduler_id,
        tasks={"processing": processing, "queued": queued, "memory": 7},
        workers=tuple(DaskWorker(f"w{n}", None, None, 1, 1, 0, 0, 0.1) for n in range(workers)),
        read_at=read_at,
    )
