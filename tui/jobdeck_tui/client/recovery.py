"""Recovery as the backend tells it: the owner, the plan, what came of it, the invariants.

As in ``models``, every string has been sanitised once, here at the boundary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .fields import NOTE_LIMIT, Fields

LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Recovery:
    """Who recovers, by the lease on record; times in Unix seconds, ``expires_in`` in seconds."""

    mode: str
    owner: str | None
    epoch: int | None
    expires_in: float | None = field(compare=False)
    acquired_at: float | None
    taken_from: str | None


class PlanLine(NamedTuple):
    """One job: what the plan does with it, or why it leaves it."""

    job_id: str
    action: str
    reason: str
    evidence: Mapping[str, object]
    automatic: bool


class RecoveryPlan(NamedTuple):
    """The plan as it stood when it was read."""

    recovery: Recovery
    actions: tuple[PlanLine, ...]
    in_line: int

    @property
    def due(self) -> tuple[PlanLine, ...]:
        """The lines that do something."""
        return tuple(one for one in self.actions if one.action != LEAVE)


class AppliedLine(NamedTuple):
    """What came of one action; ``action`` is None where the plan had nothing for the job."""

    job_id: str
    action: str | None
    result: str
    why: str


class AppliedPlan(NamedTuple):
    """What came of the plan."""

    results: tuple[AppliedLine, ...]
    done: int
    skipped: int


class Violation(NamedTuple):
    """A broken invariant; ``job_id`` is empty where no one job is concerned."""

    invariant: str
    job_id: str
    text: str


class Fsck(NamedTuple):
    """What a check of all records found."""

    clean: bool
    checked: tuple[str, ...]
    violations: tuple[Violation, ...]
    seconds: float


def recovery(data: object) -> Recovery:
    """Read who recovers."""
    row = Fields(data)
    return Recovery(
        mode=row.text("mode"),
        owner=row.maybe_text("owner"),
        epoch=row.maybe_integer("epoch"),
        expires_in=row.maybe_number("expires_in"),
        acquired_at=row.maybe_time("acquired_at"),
        taken_from=row.maybe_text("taken_from"),
    )


def plan(data: object) -> RecoveryPlan:
    """Read the plan."""
    row = Fields(data)
    return RecoveryPlan(recovery(row.raw("recovery")), row.items("actions", _line), row.integer("in_line"))


def _line(data: object) -> PlanLine:
    row = Fields(data)
    return PlanLine(
        job_id=row.job_id(),
        action=row.text("action"),
        reason=row.text("reason", NOTE_LIMIT),
        evidence=row.free("evidence"),
        automatic=row.flag("automatic"),
    )


def applied(data: object) -> AppliedPlan:
    """Read what came of the plan."""
    row = Fields(data)
    return AppliedPlan(row.items("results", _result), row.integer("done"), row.integer("skipped"))


def _result(data: object) -> AppliedLine:
    row = Fields(data)
    return AppliedLine(
        row.job_id(), row.maybe_text("action"), row.text("result"), row.text("why", NOTE_LIMIT)
    )


def fsck(data: object) -> Fsck:
    """Read what a check of all records found."""
    row = Fields(data)
    return Fsck(
        row.flag("clean"), row.texts("checked"), row.items("violations", _violation), row.number("seconds")
    )


def _violation(data: object) -> Violation:
    row = Fields(data)
    return Violation(row.text("invariant"), row.job_id(), row.text("text", NOTE_LIMIT))
