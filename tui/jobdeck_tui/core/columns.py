"""Which columns a width has room for, and what stands in them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jobdeck_tui.client.models import Job
from jobdeck_tui.text.format import NONE, age, elapsed, plural, short_worker, signed, state_label, time_left

GUTTER = 4
"""Cells that are no column's: the mark and its sides before the first, the scrollbar behind the last."""
HEARTBEAT_LATE_SECONDS = 20.0
WORKER_CELLS = 8


class Column(NamedTuple):
    """One column; ``width`` in cells, shown on screens from ``from_width`` to ``to_width`` cells wide."""

    key: str
    title: str
    width: int
    from_width: int = 0
    right: bool = False
    to_width: int = 1_000_000


# STATE is twelve cells for its longest word, CANCELLING. ID, STATE and LEFT are never dropped.
COLUMNS = (
    Column("id", "ID", 8, to_width=39),
    Column("id", "ID", 12, 40, to_width=109),
    Column("id", "ID", 20, 110),
    Column("state", "STATE", 12),
    Column("queue", "QUEUE", 15, 130),
    Column("left", "LEFT", 7, right=True),
    Column("slack", "SLACK", 7, 130, right=True),
    Column("agent", "AGENT", 15, 72),
    Column("try", "TRY", 3, 76, right=True),
    Column("worker", "WORKER", WORKER_CELLS, 100),
    Column("age", "AGE", 5, 110, right=True),
    Column("note", "NOTE", 0, 60),
)


NEVER_DROPPED = ("id", "state", "left")


def chosen(keys: Sequence[str]) -> tuple[Column, ...]:
    """Give the columns of the job list that were chosen (none: all); those never dropped are among them."""
    return tuple(
        column for column in COLUMNS if not keys or column.key in keys or column.key in NEVER_DROPPED
    )


def visible(width: int, columns: Sequence[Column] = COLUMNS) -> tuple[Column, ...]:
    """Give the columns shown on ``width`` cells; the note takes what the others leave."""
    shown = [column for column in columns if column.from_width <= width <= column.to_width]
    taken = GUTTER + sum(column.width + 1 for column in shown if column.key != "note")
    return tuple(
        Column("note", column.title, max(width - taken, 4), column.from_width)
        if column.key == "note"
        else column
        for column in shown
    )


def display_state(job: Job) -> str:
    """Give the state as the operator must see it: a cancel not yet acknowledged and a late heartbeat show."""
    if job.cancelling:
        return "cancelling"
    late = job.heartbeat_age is not None and job.heartbeat_age > HEARTBEAT_LATE_SECONDS
    return "ghost" if late and job.state == "running" else job.state


def left_seconds(job: Job, now: float) -> float | None:
    """Seconds to the deadline, negative when over; None for finished jobs and those without one."""
    return None if job.deadline is None or job.finished else job.deadline - now


def progress(job: Job) -> str:
    """Write the stage a job is in and how many it completed, ``report 3/4``; empty before the first."""
    total = f"/{job.stages_total}" if job.stages_total is not None else ""
    if job.stage is not None:
        return f"{job.stage} {job.stages_done}{total}"
    if not job.stages_done:
        return ""
    return f"{job.stages_done}{total} stages" if total else plural(job.stages_done, "stage")


def note(job: Job) -> str:
    """Give the one most useful remark on a job: what went wrong, what it waits for, or where it is."""
    if job.state in ("failed", "expired", "cancelled", "held"):
        return job.error or job.reason or job.note or progress(job)
    if job.state == "succeeded" and job.started_at is not None and job.finished_at is not None:
        return job.note or f"took {elapsed(job.finished_at - job.started_at)}"
    return job.note or progress(job) or job.reason or ""


def overran(job: Job, now: float) -> bool:
    """Whether an unfinished job should have ended by now: what the forecast said of it holds no more."""
    return not job.finished and job.predicted_finish is not None and job.predicted_finish <= now


def forecast(job: Job, now: float) -> str:
    """Give what the forecast leaves an unfinished job, ``00:40 to spare`` or ``00:20 too late``."""
    if job.finished or job.slack is None:
        return ""
    if overran(job, now):
        return "longer than predicted"
    return f"{elapsed(abs(job.slack))} {'too late' if job.slack < 0 else 'to spare'}"


def remark(job: Job, now: float) -> str:
    """Give the note, before it that the deadline will be missed; the forecast where there is no note."""
    words, told = note(job), forecast(job, now)
    return f"{told}  {words}".rstrip() if at_risk(job) else words or told


def at_risk(job: Job) -> bool:
    """Whether an unfinished job is predicted to miss its deadline."""
    return not job.finished and job.slack is not None and job.slack < 0


_CELLS: dict[str, Callable[[Job, float], str]] = {
    "id": lambda job, _now: job.job_id,
    "state": lambda job, _now: state_label(display_state(job)),
    "queue": lambda job, _now: job.queue,
    "left": lambda job, now: time_left(left_seconds(job, now)),
    "slack": lambda job, now: (
        NONE if job.slack is None or job.finished or overran(job, now) else signed(job.slack)
    ),
    "agent": lambda job, _now: job.workflow,
    "try": lambda job, _now: str(job.attempt),
    "worker": lambda job, _now: short_worker(job.worker, WORKER_CELLS) if job.worker else NONE,
    "age": lambda job, now: age(now - job.accepted_at),
    "note": lambda job, _now: note(job),
}


def cell(job: Job, key: str, now: float) -> str:
    """Give the text of one cell, not yet fitted to its width; ``now`` in Unix seconds."""
    return _CELLS[key](job, now)
