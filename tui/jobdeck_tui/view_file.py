"""The file in which one server's view is kept: whole or not at all, its owner's alone."""

import json
import re
from pathlib import Path

from jobdeck_tui.core.view_state import DamagedError, ViewState, view_state

STATE_BYTES_MAX = 1 << 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ViewFile:
    """``state.json`` of one profile, or of one address."""

    def __init__(self, directory: Path, name: str) -> None:
        self.path = directory / "deck" / (_UNSAFE.sub("_", name).strip(".") or "local") / "state.json"
        self._kept: ViewState | None = None

    def load(self) -> tuple[ViewState, str]:
        """What was kept, and a sentence where that cannot be read (then defaults hold)."""
        try:
            with self.path.open("rb") as file:
                self._kept = view_state(json.loads(file.read(STATE_BYTES_MAX)))
        except FileNotFoundError:
            return ViewState(), ""
        except (OSError, ValueError, RecursionError, DamagedError) as error:
            return ViewState(), f"{self.path} cannot be read ({error}): the list begins with defaults."
        return self._kept, ""

    def keep(self, state: ViewState) -> None:
        """Keeps a view that is not kept yet; where it cannot be, the deck goes on without."""
        if state == self._kept:
            return
        from jobdeck_tui.client.saving import Saving

        self._kept = state
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with Saving(self.path, over=True) as saving:
                saving.write(json.dumps(state.record()).encode())
                saving.keep()
        except OSError:
            return
