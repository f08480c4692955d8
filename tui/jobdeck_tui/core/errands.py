"""Acts beside those on a job's state: verdicts, drills, workers, queues, the plan; and what came of each."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from .acts import HISTORY_MAX, Phase


@dataclass(frozen=True, slots=True)
class Errand:
    """One such act, as in ``drill worker-loss``; ``text`` says what came of it. Times are Unix seconds."""

    number: int
    what: str
    requested_at: float
    phase: Phase = Phase.SENT
    text: str = ""

    def line(self, _now: float, _key: Callable[[str], str]) -> str:
        """Say it in one line."""
        return f"{self.what}: {self.text or self.phase.value}"


class Errands:
    """Those of this operator in this session."""

    def __init__(self) -> None:
        self._all: deque[Errand] = deque(maxlen=HISTORY_MAX)
        self._numbers = count(1)

    def begin(self, what: str, now: float) -> int:
        """One is sent; give its number."""
        errand = Errand(next(self._numbers), what, now)
        self._all.append(errand)
        return errand.number

    def end(self, number: int, phase: Phase, text: str) -> None:
        """Keep what came of it."""
        for place, errand in enumerate(self._all):
            if errand.number == number:
                self._all[place] = replace(errand, phase=phase, text=text)

    def history(self) -> list[Errand]:
        """Give all, newest first."""
        return list(reversed(self._all))
