"""One failure as a page: what, where, and the lines its worker logged about it."""

import re

from jobdeck_tui.client.workers import Failure, WorkerLog
from jobdeck_tui.text.format import NONE, age, instant, plural

Piece = tuple[str, str]
Row = list[Piece]
_PLACE = re.compile(r'^ +File "(.+)", line (\d+), in (.+)$', re.MULTILINE)


def failure_rows(kind: Failure, now: float) -> list[Row]:
    """The kind, its newest job, and where that failed."""
    seen = f"{instant(kind.last_seen)}, {age(max(0.0, now - kind.last_seen))} ago"
    rows: list[Row] = [
        [(f" {kind.error_type or 'failure'}", "failed"), (f" in stage {kind.stage or NONE}", "strong")],
        [(f" {plural(kind.count, 'job')} of this kind, last {seen}", "faint")],
        [(f" newest {kind.job_id}", ""), (f"  {kind.workflow}, attempt {kind.attempt}", "faint")],
        [(f" {kind.message}", "notice")],
        [],
    ]
    if (where := failing_line(kind.traceback)) is not None:
        rows.insert(4, [(" failed at ", "faint"), (where, "strong")])
    if kind.traceback is None:
        rows.append([(" No traceback is on record: no worker raised this failure.", "faint")])
    else:
        rows += [[(f" {line}", "")] for line in kind.traceback.split("\n")]
    return [*rows, []]


def failing_line(traceback: str | None) -> str | None:
    """The innermost place of a traceback, as in ``probe.py:128 in _run``; what caused it may stand before it."""
    found = _PLACE.findall(traceback or "")
    if not found:
        return None
    path, number, function = found[-1]
    return f"{path.rpartition('/')[2]}:{number} in {function}"


def log_rows(kind: Failure, log: WorkerLog | str | None) -> list[Row]:
    """The end of its worker's log; lines that name the job stand out."""
    if kind.worker is None:
        return [[(" No worker ran it.", "faint")]]
    head: Row = [(f" LOG of {kind.worker}", "strong")]
    if log is None:
        return [[*head, ("  reading …", "faint")]]
    if isinstance(log, str):
        return [[*head, (f"  {log}", "warn")]]
    return [head, *([(f" {line}", "warn" if kind.job_id in line else "faint")] for line in log.lines)]
