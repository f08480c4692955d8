"""The invariants that rows can show: checked on a live database, at the end of each drill and each fault test."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.clock import now
from jobdeck_backend.errors import NotEligible
from jobdeck_backend.jobs.lifecycle import OUTCOMES, Verb, advance
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.plural import plural
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import act_invariants, artifacts, execution_invariants, integrity, invariants, jobs
from jobdeck_backend.store.artifact_files import ArtifactFiles
from jobdeck_backend.store.engine import Database

ORPHAN_S = 3_600.0
"""Bytes without a row are waste, and a fault only once retention should have removed them long ago."""

Found = list[tuple[str, str]]
"""``(job_id, what is wrong)``; the id is empty where no one job is concerned."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: which invariant (of the design's list), which job, what is wrong."""

    invariant: str
    job_id: str
    text: str


def check_instance(database: Database, settings: Settings) -> list[Violation]:
    """``check`` of an instance's database, of its artifacts' bytes and of the probe's journal in its directory."""
    files = ArtifactFiles(settings.artifact_root)
    with database.read() as connection:
        return check(connection, settings.state_dir / "probe-journal.jsonl", files)


def check(
    connection: Connection, journal: Path | None = None, files: ArtifactFiles | None = None
) -> list[Violation]:
    """Every violation on record, read in one snapshot; an empty list is what there should be.

    ``journal`` is the probe's, whose calls are held against the ledger; ``files`` are the artifacts' bytes, each
    of which is read. Of a damaged database the damage is told, and what can still be read.
    """
    # Before the snapshot: an intent is committed before its call, never the other way round.
    called = _calls(journal)
    found = [Violation(WHOLE, "", text) for text in integrity.damage(connection)]
    checks = [*CHECKS, (CALLS, lambda tx: _unintended(tx, called))]
    if files is not None:
        checks.append((FILES, lambda tx: _unsound_files(tx, files)))
    for name, find in checks:
        try:
            found += [Violation(name, job_id, text) for job_id, text in find(connection)]
        except DBAPIError as error:
            found.append(Violation(name, "", f"cannot be checked ({error.orig})"))
    return found


def _unsound_files(connection: Connection, files: ArtifactFiles) -> Found:
    """Rows without their bytes, and bytes without a row (I17)."""
    rows = artifacts.all_kept(connection, now())
    faults = {sha256: files.fault(sha256, size) for _job_id, sha256, size in rows}
    # Once more: a row's time may have been over while others' bytes were read.
    still = set(artifacts.all_kept(connection, now()))
    wrong = [
        (job_id, f"the bytes of artifact {sha256} {faults[sha256]}")
        for job_id, sha256, size in rows
        if faults[sha256] and (job_id, sha256, size) in still
    ]
    orphans = set(files.digests(older_than_s=ORPHAN_S)) - artifacts.all_digests(connection)
    return wrong + [("", f"no row names the bytes {sha256}") for sha256 in sorted(orphans)]


def _calls(journal: Path | None) -> Counter[tuple[str, str]]:
    """How often the journal's provider saw each ``(job_id, key)``, by its complete lines."""
    if journal is None or not journal.exists():
        return Counter()
    lines = map(json.loads, journal.read_text().split("\n")[:-1])
    return Counter((line["job_id"], line["key"]) for line in lines if line["event"] == "effect_called")


def _unintended(connection: Connection, called: Counter[tuple[str, str]]) -> Found:
    intents = invariants.intents(connection) if called else {}
    wrong = [
        (
            job_id,
            f"effect {key} was called {plural(times, 'time')} on {plural(intents.get(key, 0), 'intent')}",
        )
        for (job_id, key), times in called.items()
        if times > intents.get(key, 0)
    ]
    # The journal outlives the jobs that were pruned.
    known = jobs.existing_job_ids(connection, [job_id for job_id, _text in wrong])
    return [(job_id, text) for job_id, text in wrong if job_id in known]


def _illegal_transitions(connection: Connection) -> Found:
    wrong = []
    for job_id, before, history, name, after in invariants.transition_steps(connection):
        if before != history:
            wrong.append((job_id, f"{name} starts at {before}, the one before it ended at {history}"))
        elif before is None:
            if name != Verb.SUBMIT:
                wrong.append((job_id, f"the first transition is {name}"))
        elif not _follows(before, name, after):
            wrong.append((job_id, f"{name} led from {before} to {after}"))
    return wrong


def _follows(before: str, name: str, after: str) -> bool:
    try:
        return advance(Status(before), Verb(name)) == after
    except (NotEligible, ValueError):
        return False


def _other_ends(connection: Connection) -> Found:
    """Jobs that are not what their last transition, or the last status in their log, made of them."""
    wrong = []
    for job_id, status, outcome, name, ended, told in invariants.last_words(connection):
        if ended != status:
            wrong.append((job_id, f"the job is {status}, its last transition ended at {ended}"))
        elif told != status:
            wrong.append((job_id, f"the job is {status}, its log says {told}"))
        elif outcome != OUTCOMES.get(Verb(name)):
            wrong.append((job_id, f"its last transition is {name}, its outcome {outcome or 'open'}"))
    return wrong


CHECKS: tuple[tuple[str, Callable[[Connection], Found]], ...] = (
    ("I2 one job per id, one unfinished job per thread", act_invariants.shared_threads),
    ("I3 terminal changes only by a resume", _illegal_transitions),
    ("I3 a job is what its history made of it", _other_ends),
    ("I4 sequence numbers are gapless in commit order", invariants.sequence_gaps),
    ("I6 a stage completes once", invariants.repeated_stages),
    ("I7 fences never fall", execution_invariants.falling_fences),
    ("I8 one live attempt", invariants.unexplained_attempts),
    ("I8 each claim is an attempt on record", execution_invariants.miscounted_attempts),
    ("I8 epochs are of leases", execution_invariants.impossible_leases),
    ("I9 nothing starts past its deadline", execution_invariants.late_starts),
    ("I10 success on time or marked late", execution_invariants.unmarked_lateness),
    ("I11 the ledger tells what is known", invariants.untrue_effects),
    ("R8 the caller is told", invariants.untold_callers),
    ("I12 outcome and status agree", invariants.disagreeing_outcomes),
    ("I12 the cancel's answer holds", act_invariants.disagreeing_cancels),
    ("I20 one audit row for each act", act_invariants.unrecorded_acts),
)
"""Each invariant in words, and what finds where it is broken."""

WHOLE = "the database file is whole"
CALLS = "I11 an effect is called as often as intended"
FILES = "I17 each artifact has its bytes, and the other way round"
CHECKED = (WHOLE, *(name for name, _find in CHECKS), CALLS, FILES)
"""All that ``check_instance`` looks at."""


def report(violations: Sequence[Violation], seconds: float) -> dict[str, Any]:
    """A check's result as the operations API and the command line show it."""
    return {
        "clean": not violations,
        "checked": list(CHECKED),
        "violations": [asdict(one) for one in violations],
        "seconds": round(seconds, 3),
    }
