"""Evidence that does not come from jobdeck's own tables: the system's processes, the agents' journals."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JournalLine:
    """One line that an agent synced to disk as it worked."""

    job_id: str
    attempt: int
    pid: int
    event: str
    stage: str


def read_journal(state_dir: Path, workflow: str) -> list[JournalLine]:
    """All lines of a workflow's journal, in the order they were written."""
    path = state_dir / f"{workflow}-journal.jsonl"
    if not path.exists():
        return []
    lines = []
    whole, _, _unfinished = path.read_text().rpartition("\n")
    for text in whole.splitlines():
        line = json.loads(text)
        lines.append(JournalLine(line["job_id"], line["attempt"], line["pid"], line["event"], line["stage"]))
    return lines


def repeated_stages(journal: list[JournalLine]) -> list[tuple[str, str]]:
    """``(job_id, stage)`` of every stage that completed more than once."""
    completed = Counter((line.job_id, line.stage) for line in journal if line.event == "stage_completed")
    return [stage for stage, times in completed.items() if times > 1]


def restarted_after_completion(journal: list[JournalLine]) -> list[tuple[str, str]]:
    """``(job_id, stage)`` of every stage that was started again although it had completed."""
    completed: set[tuple[str, str]] = set()
    restarted = []
    for line in journal:
        stage = (line.job_id, line.stage)
        if line.event == "stage_completed":
            completed.add(stage)
        elif stage in completed:
            restarted.append(stage)
    return restarted


def process_exists(pid: int) -> bool:
    """Whether the operating system has that process, other than as a corpse not yet collected."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def descendants(pid: int) -> list[int]:
    """The processes that came from ``pid``, as the operating system knows them now."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, thread.read_text().split()):
            found += [child, *descendants(child)]
    return found
