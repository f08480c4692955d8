"""A drill as a record: its timeline, its evidence, its verdict. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from jobdeck_backend.clock import zulu

Fault = Literal["scheduler-loss", "scheduler-hang", "worker-loss", "worker-hang", "stream-drop", "api-loss"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
State = Literal["running", "passed", "failed", "healed", "not_shown"]
Verdict = Literal["ok", "late", "failed", "nothing_to_judge"]


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a timeline; ``expected`` in seconds since the injection, None where nothing is promised."""

    name: str
    text: str
    expected: float | None
    failed: bool = False
    judged: bool = True
    """Whether anything was there for the fault to prove it on: where nothing ran, nothing can come back."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """For one unfinished job: which stages it had completed, and whether any of them ran again."""

    job_id: str
    stages_before: tuple[str, ...]
    stages_after: tuple[str, ...]
    repeated: int
    state: str
    attempt: int


@dataclass
class Drill:
    """A drill as it goes on; times in Unix seconds."""

    id: str
    fault: Fault
    target: str | None
    started_at: float
    state: State = "running"
    ended_at: float | None = None
    timeline: list[dict[str, Any]] = field(default_factory=list)
    awaited: list[tuple[str, float | None]] = field(default_factory=list)
    """What was not seen yet, and by when it is expected."""
    evidence: list[Evidence] = field(default_factory=list)

    @classmethod
    def going_on(cls, shown: Mapping[str, Any], started_at: float) -> "Drill":
        """A drill that runs, from its record: its backend was what the fault took."""
        return cls(shown["id"], shown["fault"], shown["target"], started_at, timeline=list(shown["timeline"]))

    def add(self, step: Step, at: float) -> None:
        """Put a step on the timeline, with its verdict."""
        seen = max(0.0, at - self.started_at)
        verdict: Verdict | None = None
        if step.failed:
            verdict = "failed"
        elif not step.judged:
            verdict = "nothing_to_judge"
        elif step.expected is not None:
            verdict = "ok" if seen <= step.expected else "late"
        self.timeline.append(
            {
                "at": zulu(at),
                "name": step.name,
                "text": step.text,
                "expected": step.expected,
                "seen": None if step.failed or not step.judged else round(seen, 3),
                "verdict": verdict,
            }
        )

    def end(self, at: float, *, healed: bool = False, hit: bool = True) -> None:
        """It is over: passed where nothing was late or failed. One ended by hand was not there to be in time.

        ``hit``: whether the fault hit anything that recovery is there for; if not, the drill has shown nothing.
        """
        verdicts = {step["verdict"] for step in self.timeline}
        if "failed" in verdicts:
            self.state = "failed"
        elif healed:
            self.state = "healed"
        elif "late" in verdicts:
            self.state = "failed"
        else:
            self.state = "passed" if hit else "not_shown"
        self.ended_at = at

    def shown(self) -> dict[str, Any]:
        """The drill as the operations API shows it."""
        return {
            "id": self.id,
            "fault": self.fault,
            "target": self.target,
            "state": self.state,
            "started_at": zulu(self.started_at),
            "ended_at": None if self.ended_at is None else zulu(self.ended_at),
            "timeline": list(self.timeline),
            "awaited": [{"name": name, "expected": expected} for name, expected in self.awaited],
            "evidence": list(map(asdict, self.evidence)),
        }
