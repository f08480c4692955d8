"""One job as a line of the list: the text of each cell and how it looks."""

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.columns import Column, at_risk, cell, display_state, left_seconds, remark
from jobdeck_tui.core.job_view import left_look
from jobdeck_tui.text.format import short_id
from jobdeck_tui.widgets.virtual_table import Cell


def job_cell(job: Job, column: Column, now: float, said: str) -> Cell:
    """The text of one cell and its look; ``said`` is what an act, or its queue, is doing to the job."""
    text = short_id(job.job_id, column.width) if column.key == "id" else cell(job, column.key, now)
    if column.key == "state":
        state = display_state(job)
        return Cell(text, job.state if state == job.state else "warn")
    if column.key == "left":
        return Cell(text, left_look(left_seconds(job, now)))
    if column.key == "note":
        return Cell(said, "warn") if said else Cell(remark(job, now), _note_look(job))
    return Cell(text, "faint" if job.finished else "")


def _note_look(job: Job) -> str:
    if job.finished:
        return "failed" if job.state == "failed" else "faint"
    return "soon" if at_risk(job) else ""
