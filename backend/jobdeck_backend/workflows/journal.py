"""The independent witness: what an execution did, in synced JSON lines beside jobdeck's own tables."""

import json
import os

from jobdeck_backend.clock import iso, now
from jobdeck_backend.workflows.context import JobContext


def write_journal(context: JobContext, workflow: str, event: str, stage: str) -> None:
    """Append ``stage_started`` or ``stage_completed`` to ``<workflow>-journal.jsonl`` and sync."""
    line = {
        "at": iso(now()),
        "job_id": context.job_id,
        "attempt": context.attempt,
        "fence": context.fence,
        "pid": os.getpid(),
        "event": event,
        "stage": stage,
    }
    path = context.journal_dir / f"{workflow}-journal.jsonl"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # One write each: lines of several processes never mix.
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
