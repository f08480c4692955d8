"""Acts beside those on a job's state: verdicts, drills, workers, queues, the plan; and what came of each."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .acts import HISTORY_MAX, Phase


@dataclass(slots=True, eq=False)
class Errand:
    """One such act, as in ``drill worker-loss``; ``text`` says what came of it. Times are Unix seconds."""

    what: str
    requested_at: float
    phase: Phase = Phase.SENT
    text: str = ""

    def end(self, phase: Phase, text: str) -> None:
        """Keep what came of it."""
        self.phase, self.text = phase, text

    def line(self, _now: float, _key: Callable[[str], str]) -> str:
        """Say it in one line, asked for as that of any other act."""
        return f"{self.what}: {self.text or self.phase.value}"


class Errands:
    """Those of this operator in this session."""

    def __init__(self) -> None:
        self._all: deque[Errand] = deque(maxlen=HISTORY_MAX)

    def begin(self, what: str, now: float) -> Errand:
        """One is sent."""
        errand = Errand(what, now)
        self._all.append(errand)
        return errand

    def history(self) -> list[Errand]:
        """Give all, newest first."""
        return list(reversed(self._all))
