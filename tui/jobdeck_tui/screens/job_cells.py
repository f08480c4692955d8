"""One job as a line of the list: the text of each cell and how it looks."""

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.columns import Column, cell, display_state, left_seconds
from jobdeck_tui.core.job_view import left_look
from jobdeck_tui.text.format import short_id
from jobdeck_tui.widgets.virtual_table import Cell


def job_cell(job: Job, column: Column, now: float, acting: str) -> Cell:
    """The text of one cell and its look; ``acting`` is what an act on the job is doing."""
    text = short_id(job.job_id, column.width) if column.key == "id" else cell(job, column.key, now)
    if column.key == "state":
        state = display_state(job)
        return Cell(text, job.state if state == job.state else "warn")
    if column.key == "left":
        return Cell(text, left_look(left_seconds(job, now)))
    if column.key == "note":
        if acting:
            return Cell(acting, "warn")
        return Cell(text, "failed" if job.state == "failed" else "faint" if job.finished else "")
    return Cell(text, "faint" if job.finished else "")
