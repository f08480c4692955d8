"""Dask's picture in words where no backend's records stand beside it, and where its dashboard is."""

from collections.abc import Mapping, Sequence

from jobdeck_tui.client.models import DaskPicture, DaskWorker
from jobdeck_tui.core.worker_words import worker_rows
from jobdeck_tui.text.format import NONE, age, number, plural

Piece = tuple[str, str]
Row = list[Piece]
STATES = ("waiting", "queued", "no-worker", "processing", "memory", "erred")
WITHOUT_BACKEND = (
    "Only Dask's own dashboard is read here: there is no backend whose jobs could be shown or acted on."
)
NO_BOKEH = "no Bokeh there: pip install bokeh, then jobdeck serve --dask-dashboard"
NO_BOKEH_ELSEWHERE = "no Bokeh there: install it where the scheduler runs"


def dask_rows(
    url: str,
    picture: DaskPicture | None,
    workers: Sequence[DaskWorker],
    now: float,
    width: int,
    chosen: str | None = None,
) -> list[Row]:
    """All that Dask says of itself at ``url``; the ``chosen`` worker is pointed at."""
    head: Row = [(" scheduler ", "strong"), (f"{url}  ", "")]
    if picture is None:
        return [[*head, ("nothing was read yet", "faint")]]
    threads = sum(worker.threads for worker in workers)
    busy = sum(worker.executing for worker in workers)
    counts = "".join(f"{number(picture.tasks.get(name, 0)):>11}" for name in STATES)
    return [
        [*head, (f"read {age(now - picture.read_at)} ago", "faint")],
        [(f"   id {picture.scheduler_id or NONE}", "faint")],
        [],
        [("           " + "".join(f"{name:>11}" for name in STATES), "faint")],
        [(" Dask      ", "strong"), (counts, "")],
        [],
        [(f" {plural(len(workers), 'worker')}", "strong"), (f"  {busy} of {threads} threads at work", "")],
        *worker_rows(workers, chosen, width),
    ]


def why_tasks_wait(picture: DaskPicture | None, workers: Sequence[DaskWorker]) -> list[str]:
    """What holds up the tasks that do not run, the most serious first; empty where none waits."""
    if picture is None:
        return []
    tasks = picture.tasks
    threads = sum(worker.threads for worker in workers if worker.state == "running")
    reasons: list[str] = []
    if count := tasks.get("no-worker", 0):
        reasons.append(
            f"{plural(count, 'task')} ready, and no worker fits what it asks for: start one that does."
        )
    if count := tasks.get("queued", 0):
        cause = f"every thread that takes work is taken ({threads})" if threads else "no worker takes work"
        reasons.append(f"{plural(count, 'task')} queued: ready, and {cause}.")
    if count := tasks.get("waiting", 0):
        reasons.append(f"{plural(count, 'task')} waiting: what they need is not computed yet.")
    if count := tasks.get("erred", 0):
        reasons.append(f"{plural(count, 'task')} erred: what needs them never runs.")
    return reasons


def has_desktop(environment: Mapping[str, str]) -> bool:
    """Whether a browser can be opened beside this terminal: over SSH it would open on the wrong machine."""
    return "SSH_CONNECTION" not in environment and bool(
        environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY") or environment.get("TERM_PROGRAM")
    )
