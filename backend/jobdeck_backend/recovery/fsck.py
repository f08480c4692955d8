"""The invariants that rows can show, checked on a live database or after a test."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from jobdeck_backend.errors import NotEligible
from jobdeck_backend.jobs.lifecycle import Verb, advance
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.store import invariants


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: which invariant (of the design's list), which job, what is wrong."""

    invariant: str
    job_id: str
    text: str


def check(connection: Connection, journal: Path | None = None) -> list[Violation]:
    """Every violation on record, read in one snapshot; an empty list is what there should be.

    ``journal`` is the probe's, whose calls are held against the ledger.
    """
    # Before the snapshot: an intent is committed before its call, never the other way round.
    called = _calls(journal)
    checks = (
        ("I3 terminal changes only by a resume", _illegal_transitions(connection)),
        ("I4 sequence numbers are gapless in commit order", invariants.sequence_gaps(connection)),
        ("I6 a stage completes once", invariants.repeated_stages(connection)),
        ("I8 one live attempt", invariants.unexplained_attempts(connection)),
        ("I11 an effect is called as often as intended", _unintended(connection, called)),
        ("I11 the ledger tells what is known", invariants.untrue_effects(connection)),
        ("R8 the caller is told", invariants.untold_callers(connection)),
        ("I12 outcome and status agree", invariants.disagreeing_outcomes(connection)),
    )
    return [Violation(name, job_id, text) for name, found in checks for job_id, text in found]


def _calls(journal: Path | None) -> Counter[tuple[str, str]]:
    """How often the journal's provider saw each ``(job_id, key)``."""
    if journal is None or not journal.exists():
        return Counter()
    lines = map(json.loads, journal.read_text().splitlines())
    return Counter((line["job_id"], line["key"]) for line in lines if line["event"] == "effect_called")


def _unintended(connection: Connection, called: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    intents = invariants.intents(connection) if called else {}
    return [
        (job_id, f"effect {key} was called {times} times on {intents.get(key, 0)} intents")
        for (job_id, key), times in called.items()
        if times > intents.get(key, 0)
    ]


def _illegal_transitions(connection: Connection) -> list[tuple[str, str]]:
    wrong = []
    for job_id, before, history, name, after in invariants.transition_steps(connection):
        if before != history:
            wrong.append((job_id, f"{name} starts at {before}, the one before it ended at {history}"))
        elif before is None:
            if name != Verb.SUBMIT:
                wrong.append((job_id, f"the first transition is {name}"))
        elif not _follows(Status(before), name, after):
            wrong.append((job_id, f"{name} led from {before} to {after}"))
    return wrong


def _follows(before: Status, name: str, after: str) -> bool:
    try:
        return advance(before, Verb(name)) == after
    except (NotEligible, ValueError):
        return False
