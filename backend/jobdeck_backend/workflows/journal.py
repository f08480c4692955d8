"""The independent witness: what an execution did, in synced JSON lines beside jobdeck's own tables."""

import json
import os
from pathlib import Path
from typing import Any

from jobdeck_backend.clock import iso, now
from jobdeck_backend.workflows.context import JobContext
from jobdeck_backend.workflows.place import here


def write_journal(
    context: JobContext, workflow: str, event: str, stage: str, *, key: str | None = None
) -> None:
    """Append one line to ``<workflow>-journal.jsonl`` and sync.

    ``event`` is ``stage_started``, ``stage_completed``, or ``effect_called`` with the effect's ``key``.
    """
    line = {
        "at": iso(now()),
        "job_id": context.job_id,
        "attempt": context.attempt,
        "fence": context.fence,
        "pid": os.getpid(),
        "event": event,
        "stage": stage,
        **({} if key is None else {"key": key}),
    }
    path = _path(context, workflow)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # One write each: lines of several processes never mix.
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def journal_completion(context: JobContext, workflow: str, stage: str) -> None:
    """Append ``stage_completed`` once the stage's output is saved: a kill before that runs the stage again."""
    place = here()
    assert place is not None, "a stage is a graph node"
    context.recorder.when_saved(*place, lambda: write_journal(context, workflow, "stage_completed", stage))


def read_journal(context: JobContext, workflow: str) -> list[dict[str, Any]]:
    """The journal's lines so far, of all jobs."""
    path = _path(context, workflow)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _path(context: JobContext, workflow: str) -> Path:
    return context.journal_dir / f"{workflow}-journal.jsonl"
