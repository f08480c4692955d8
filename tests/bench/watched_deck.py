"""``python -m tests.bench.watched_deck URL FILE``: the deck, and each second how late its event loop was.

A line of FILE is a JSON list of milliseconds: by how much each short sleep of that second was too long.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from jobdeck_tui.app import DeckApp
from jobdeck_tui.reaching import Reaching

NAP_S = 0.005
NAPS_A_LINE = 200


class WatchedDeck(DeckApp):
    """Beside the deck's own work, sleeps and looks at the clock."""

    def __init__(self, url: str, file: Path) -> None:
        super().__init__(Reaching(url))
        self._file = file

    def on_mount(self) -> None:
        """Begins watching, too."""
        super().on_mount()
        self.run_worker(self._watch(), group="watch")

    async def _watch(self) -> None:
        while True:
            late_ms = []
            for _ in range(NAPS_A_LINE):
                before = time.perf_counter()
                await asyncio.sleep(NAP_S)
                late_ms.append(1_000 * (time.perf_counter() - before - NAP_S))
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(late_ms) + "\n")


def loop_lags_ms(file: Path) -> list[float]:
    """Everything that was written."""
    return [late for line in file.read_text(encoding="utf-8").splitlines() for late in json.loads(line)]


if __name__ == "__main__":
    WatchedDeck(sys.argv[1], Path(sys.argv[2])).run()
