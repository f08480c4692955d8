"""What a ``World`` has on record about one job."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .deck_driver import NOW

Json = dict[str, Any]
Text = Callable[[str], str]
STAGES = ("extract_clauses", "compare", "judge", "report")


def at(seconds: float) -> str:
    """An instant, in seconds from now, as the server writes it."""
    return datetime.fromtimestamp(NOW + seconds, UTC).isoformat()


def attempt(text: Text, number: int) -> Json:
    """One claim by a worker."""
    return {
        "attempt": number,
        "fence": number,
        "worker": text("w0-e1"),
        "pid": 4000 + number,
        "epoch": 1,
        "started_at": at(-100),
        "heartbeat_at": at(-60),
        "ended_at": at(-50),
        "end_reason": text("worker lost"),
        "late_result": text("too late") if number == 1 else None,
        "late_result_chars": 8 if number == 1 else None,
        "traceback": text('Traceback\n  File "probe.py", line 7\nValueError: no text'),
    }


def stage(text: Text, number: int) -> Json:
    """One run of a graph node."""
    return {
        "node": text(STAGES[number % 4]),
        "step": number + 1,
        "attempt": 1 + number // 2,
        "pid": 4001,
        "started_at": at(-90 + number),
        "completed_at": at(-88 + number),
        "checkpoint_id": text("1f0cafe0-0000-6000-8001"),
        "output_hash": text("sha256:ab12cd34ef56"),
    }


def effect(text: Text, number: int) -> Json:
    """One act on the outside world."""
    return {
        "key": f"{text('job/notify')}/{number}",
        "name": text("notify"),
        "node": text("report"),
        "step": 4,
        "policy": "at_most_once",
        "state": "uncertain" if number == 0 else "confirmed",
        "request": {text("to"): text("legal@example.com")},
        "attempt": 1,
        "intents": 1,
        "intent_at": at(-55),
        "settled_at": None if number == 0 else at(-54),
        "settled_by": None if number == 0 else text("worker"),
        "outcome": None if number == 0 else {text("id"): text("42")},
        "proof": None if number == 0 else text("mail 42"),
    }


def artifact(text: Text, number: int) -> Json:
    """One file that was left."""
    return {
        "artifact_id": f"art_{number}",
        "filename": text("clauses.csv" if number == 0 else "clauses.pdf"),
        "kind": text("table"),
        "mime_type": "text/csv" if number == 0 else "application/pdf",
        "size_bytes": 2048 * (number + 1),
        "sha256": text("ab" * 32),
        "title": text("Clauses"),
        "caption": text("one a line"),
        "attempt": 1,
        "created_at": at(-70),
        "removed_at": None,
    }
