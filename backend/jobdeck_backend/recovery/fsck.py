"""The invariants that rows can show, checked on a live database or after a test."""

from dataclasses import dataclass

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


def check(connection: Connection) -> list[Violation]:
    """Every violation on record, read in one snapshot; an empty list is what there should be."""
    checks = (
        ("I3 terminal changes only by a resume", _illegal_transitions(connection)),
        ("I4 sequence numbers are gapless in commit order", invariants.sequence_gaps(connection)),
        ("I6 a stage completes once", invariants.repeated_stages(connection)),
        ("I8 one live attempt", invariants.unexplained_attempts(connection)),
        ("I12 outcome and status agree", invariants.disagreeing_outcomes(connection)),
    )
    return [Violation(name, job_id, text) for name, found in checks for job_id, text in found]


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
