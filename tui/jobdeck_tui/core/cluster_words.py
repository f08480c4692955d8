"""Dask's own picture beside the records, in words."""

from collections.abc import Sequence

from jobdeck_tui.client.models import DaskPicture, DaskWorker, Overview, Scheduler
from jobdeck_tui.core.worker_words import worker_rows
from jobdeck_tui.text.format import NONE, age, elapsed, number, plural, short_worker

Piece = tuple[str, str]
Row = list[Piece]
SCHEDULER_WORDS = {
    "up": ("✔ up", "good"),
    "external": ("✔ external", "good"),
    "suspect": ("⚠ SUSPECT", "warn"),
    "lost": ("✖ LOST", "bad"),
    "starting": ("↻ STARTING", "warn"),
}
WORKERS_IN_STRIP_MAX = 8
STRIP_NAME_CELLS = 12
DRAIN_FROM_COLUMNS = 110


def scheduler_piece(scheduler: Scheduler) -> Piece:
    """The scheduler's state, a glyph and a word."""
    return SCHEDULER_WORDS.get(scheduler.state, (scheduler.state, "warn"))


def strip(
    overview: Overview | None, picture: DaskPicture | None, workers: Sequence[DaskWorker], width: int
) -> Row:
    """One line under the counts: the scheduler, its epoch, and waiting, queued and processing by worker."""
    if overview is None:
        return [(" Dask  not known yet", "faint")]
    word, look = scheduler_piece(overview.scheduler)
    row: Row = [
        (" Dask ", "strong"),
        (word, look),
        (f" epoch {overview.scheduler.epoch}", ""),
        (f"  slots {overview.slots_taken}/{overview.slots_total}" if width >= 100 else "", ""),
    ]
    if overview.paused:
        row.append((f"  ⏸ paused: {', '.join(overview.paused)}", "warn"))
    if overview.scheduler.unfit:
        row.append((f"  ⚠ {plural(len(overview.scheduler.unfit), 'worker')} unfit", "warn"))
    if overview.drain_seconds and width >= DRAIN_FROM_COLUMNS:
        row.append((f"  all done in {elapsed(overview.drain_seconds)}", "faint"))
    if picture is None:
        row.append(("  its dashboard is not readable: records only", "faint"))
        return row
    tasks = picture.tasks
    row.append((f"  waiting {tasks.get('waiting', 0)} queued {tasks.get('queued', 0)}  processing", ""))
    if not picture.workers:
        row.append((f" {tasks.get('processing', 0)}", ""))
    return row + _workers_in_strip(workers, width - sum(len(text) for text, _ in row))


def _workers_in_strip(workers: Sequence[DaskWorker], room: int) -> Row:
    """As many workers as there is room for, and how many more there are."""
    row: Row = []
    for count, worker in enumerate(workers[:WORKERS_IN_STRIP_MAX]):
        text = f" {short_worker(worker.name, STRIP_NAME_CELLS)} {worker.executing}/{worker.threads}"
        if worker.ready:
            text += f"+{worker.ready}"
        if worker.state != "running":
            text += f" {worker.state}"
        if len(text) + 4 > room:
            row.append((f" +{len(workers) - count}", "faint"))
            break
        room -= len(text)
        look = "running" if worker.executing else "faint"
        row.append((text, look if worker.state == "running" else "warn"))
    return row


def cluster_rows(
    overview: Overview | None,
    picture: DaskPicture | None,
    workers: Sequence[DaskWorker],
    now: float,
    width: int,
    chosen: str | None = None,
) -> list[Row]:
    """The whole of Dask's picture beside the records; the ``chosen`` worker is pointed at."""
    if overview is None:
        return [[(" Nothing is known of the cluster yet.", "faint")]]
    scheduler = overview.scheduler
    word, look = scheduler_piece(scheduler)
    rows: list[Row] = [
        [
            (" scheduler ", "strong"),
            (word, look),
            (f"  epoch {scheduler.epoch}  {scheduler.address or NONE}", ""),
            (f"  answered {age(scheduler.seen_age)} ago" if scheduler.seen_age is not None else "", "faint"),
        ],
        [(f"   id {scheduler.id or NONE}", "faint")],
        *([[(f"   ⚠ {scheduler.problem}", "warn")]] if scheduler.problem else []),
        [],
        *_beside(overview, picture, now),
        [],
    ]
    rows.append([(f" {plural(len(workers) or overview.workers, 'worker')}", "strong")])
    rows += worker_rows(workers, chosen, width)
    rows += [[(f" ⚠ {name} gets no jobs: {why}", "warn")] for name, why in scheduler.unfit]
    return rows


def _beside(overview: Overview, picture: DaskPicture | None, now: float) -> list[Row]:
    counts = overview.counts
    names = ("waiting", "queued", "processing", "no-worker", "memory", "erred")
    head: Row = [("           " + "".join(f"{name:>11}" for name in names), "faint")]
    if picture is None:
        dask: Row = [(" Dask      ", "strong"), ("  its dashboard cannot be read now", "warn")]
    else:
        cells = "".join(f"{number(picture.tasks.get(name, 0)):>11}" for name in names)
        dask = [(" Dask      ", "strong"), (cells, "")]
    processing = counts.get("assigned", 0) + counts.get("running", 0)
    told = (counts.get("waiting", 0), counts.get("queued", 0), processing)
    records: Row = [
        (" records   ", "strong"),
        ("".join(f"{number(count):>11}" for count in told), ""),
    ]
    parts = f" processing is assigned {counts.get('assigned', 0)} and running {counts.get('running', 0)};"
    kept = f" backlog {counts.get('backlog', 0)} not handed over"
    read = f"; Dask read {age(now - picture.read_at)} ago" if picture is not None else ""
    return [head, dask, records, [(parts + kept + read, "faint")]]


def agreement_rows(words: Sequence[str], *, known: bool) -> list[Row]:
    """Where Dask and the records differ; that they agree is said too."""
    if words:
        return [[(f" ⚠ {line}", "warn")] for line in words]
    if not known:
        return [[(" Dask and the records: not both known, so not compared.", "faint")]]
    return [[(" ✔ Dask and the records agree.", "good")]]
