"""What a screen shows as records, and records as CSV, JSON or lines of JSON, safe for whatever opens the file."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import NamedTuple

from jobdeck_tui.client.fields import plain
from jobdeck_tui.client.models import Job

KINDS = {"c": "csv", "j": "json", "n": "ndjson"}
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""A spreadsheet takes a cell that begins so for a formula, and runs it."""
_FORMULA = re.compile(rf"((?:^|[;\t\n]) *\"*)(?=[{re.escape(''.join(FORMULA_STARTS))}])")
"""Where one may begin: in much of Europe a spreadsheet parts cells at semicolons, also within a text."""

JOB_TIMES = (
    "deadline",
    "predicted_finish",
    "accepted_at",
    "started_at",
    "finished_at",
    "cancel_requested_at",
    "cancel_acknowledged_at",
)

Record = Mapping[str, object]


class Records(NamedTuple):
    """Rows as they are shown, oldest or topmost first; ``what`` names them in the singular and in file names.

    ``matching``: how many there are, where only some of them are shown.
    """

    what: str
    rows: Sequence[Record]
    matching: int | None = None


def record_of(item: object, times: Sequence[str]) -> Record:
    """All that is known of what a table shows in one row; its moments, named by ``times``, as ISO 8601 in UTC."""
    row = plain(item)
    assert isinstance(row, dict)
    return {name: iso(value) if name in times else value for name, value in row.items()}


def job_record(job: Job) -> Record:
    """All that is known of a job, its times as ISO 8601 in UTC."""
    record = asdict(job)
    for name in JOB_TIMES:
        record[name] = iso(record[name])
    return record


def iso(at: float | None) -> str | None:
    """A moment (Unix seconds) as ISO 8601 in UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def as_text(records: Records, kind: str) -> str:
    """The records in one of ``KINDS``."""
    if kind == "csv":
        return _csv(records.rows)
    if kind == "ndjson":
        return "".join(_json(row) + "\n" for row in records.rows)
    return json.dumps(list(map(dict, records.rows)), ensure_ascii=True, indent=1, default=str) + "\n"


def _csv(rows: Sequence[Record]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([_cell(name) for name in names])
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return file.getvalue()


def _cell(value: object) -> object:
    """Numbers stay numbers; text that a spreadsheet would run begins with an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else _json(value)
    return _FORMULA.sub(r"\1'", text)


def _json(value: object) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=True, default=str)
