"""What a seed means: which fault strikes when."""

import random
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What can be done to the processes, the database and the connections of one run."""

    KILL = "kill"
    STOP = "stop"
    HOLD_LOCK = "hold_lock"
    DELAY_COMMITS = "delay_commits"
    RESET_READERS = "reset_readers"
    STEP_CLOCK = "step_clock"


TARGETS = {
    Fault.KILL: ("first backend", "second backend", "scheduler", "worker", "worker"),
    Fault.STOP: ("first backend", "second backend", "scheduler", "worker", "worker"),
    Fault.STEP_CLOCK: ("first backend", "second backend", "worker"),
}
WEIGHTS = {
    Fault.KILL: 5,
    Fault.STOP: 4,
    Fault.HOLD_LOCK: 1,
    Fault.DELAY_COMMITS: 2,
    Fault.RESET_READERS: 3,
    Fault.STEP_CLOCK: 2,
}
LASTS_S = {Fault.STOP: (0.2, 8.0), Fault.HOLD_LOCK: (0.2, 3.0), Fault.DELAY_COMMITS: (1.0, 4.0)}
PAUSES_S = (0.5, 3.0)


@dataclass(frozen=True)
class Strike:
    """One fault: ``at`` seconds after the start, for ``lasts`` seconds where it lasts."""

    at: float
    fault: Fault
    target: str
    lasts: float

    def __str__(self) -> str:
        lasts = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:5.1f} s  {self.fault.replace('_', ' ')} {self.target}{lasts}"


def schedule(seed: int, length_s: float) -> list[Strike]:
    """The strikes of ``length_s`` seconds, the same for the same seed."""
    choice = random.Random(seed)
    strikes, at = [], choice.uniform(*PAUSES_S)
    while at < length_s:
        fault = choice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        target = choice.choice(TARGETS.get(fault, ("",)))
        strikes.append(Strike(at, fault, target, choice.uniform(*LASTS_S.get(fault, (0.0, 0.0)))))
        at += choice.uniform(*PAUSES_S)
    return strikes
