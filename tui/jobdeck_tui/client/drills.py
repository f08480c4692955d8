"""Drills as the backend tells them: a fault injected on purpose, and what was expected and seen of it.

As in ``models``, every string has been sanitised once, here at the boundary.
"""

from typing import NamedTuple

from .fields import NOTE_LIMIT, Fields


class DrillStep(NamedTuple):
    """One line of a drill's timeline; ``expected`` and ``seen`` are seconds since the injection."""

    at: float
    name: str
    text: str
    expected: float | None
    seen: float | None
    verdict: str | None


class DrillAwaited(NamedTuple):
    """Something a drill expects that was not seen yet, within seconds of the injection."""

    name: str
    expected: float | None


class DrillEvidence(NamedTuple):
    """For one job: its completed stages before the fault, and whether any ran again."""

    job_id: str
    stages_before: tuple[str, ...]
    stages_after: tuple[str, ...]
    repeated: int
    state: str
    attempt: int


class Drill(NamedTuple):
    """A fault injected on purpose and what was seen."""

    id: str
    fault: str
    target: str | None
    state: str
    started_at: float
    ended_at: float | None
    timeline: tuple[DrillStep, ...]
    evidence: tuple[DrillEvidence, ...]
    awaited: tuple[DrillAwaited, ...] = ()

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.state == "running"


def _step(data: object) -> DrillStep:
    """Read one line of a drill's timeline."""
    row = Fields(data)
    return DrillStep(
        at=row.time("at"),
        name=row.text("name"),
        text=row.text("text", NOTE_LIMIT),
        expected=row.maybe_number("expected"),
        seen=row.maybe_number("seen"),
        verdict=row.maybe_text("verdict"),
    )


def _evidence(data: object) -> DrillEvidence:
    """Read whether one job's completed stages ran again."""
    row = Fields(data)
    return DrillEvidence(
        job_id=row.job_id(),
        stages_before=row.texts("stages_before"),
        stages_after=row.texts("stages_after"),
        repeated=row.integer("repeated"),
        state=row.text("state"),
        attempt=row.integer("attempt"),
    )


def _awaited(data: object) -> DrillAwaited:
    """Read what a drill still expects."""
    row = Fields(data)
    return DrillAwaited(row.text("name"), row.maybe_number("expected"))


def read_drill(data: object) -> Drill:
    """Read a drill whole."""
    row = Fields(data)
    return Drill(
        id=row.text("id"),
        fault=row.text("fault"),
        target=row.maybe_text("target"),
        state=row.text("state"),
        started_at=row.time("started_at"),
        ended_at=row.maybe_time("ended_at"),
        timeline=row.items("timeline", _step),
        evidence=row.items("evidence", _evidence),
        awaited=row.items("awaited", _awaited),
    )
