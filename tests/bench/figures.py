"""A measured figure: every run, their median, and the target it is judged by."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

QUICK = bool(os.environ.get("QUICK"))


def rounds(full: int, quick: int) -> int:
    """How often to measure: fewer times when in a hurry (``QUICK=1``)."""
    return quick if QUICK else full


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@dataclass
class Figure:
    """``target`` is a lower bound for rates and ratios, an upper bound for everything else."""

    name: str
    unit: str
    runs: list[float]
    target: float | None = None
    at_least: bool = False
    median: float = field(init=False)
    met: bool | None = field(init=False)

    def __post_init__(self) -> None:
        self.runs = [round(run, 4) for run in self.runs]
        self.median = round(median(self.runs), 4)
        self.met = None
        if self.target is not None:
            self.met = self.median >= self.target if self.at_least else self.median <= self.target

    def as_json(self) -> dict[str, object]:
        """For the report."""
        return asdict(self)
