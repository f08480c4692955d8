"""How the headless demo speaks: a line a fact, as text or as JSON."""

import json
import sys
import time
from dataclasses import dataclass, field


@dataclass
class Narrator:
    """Prints what happens as it happens and remembers every check."""

    as_json: bool
    failed: list[str] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def say(self, event: str, text: str, **data: object) -> None:
        """One fact of the story."""
        at = round(time.monotonic() - self._since, 1)
        if self.as_json:
            line = json.dumps({"at": at, "event": event, "text": text, **data})
        else:
            line = f"{at:6.1f} s  {text}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def check(self, name: str, text: str, *, held: bool, **data: object) -> None:
        """One thing that must be so; ``text`` says what was seen."""
        if not held:
            self.failed.append(name)
        mark = "ok    " if held else "FAILED"
        self.say("check", f"{mark}  {name}: {text}", name=name, held=held, **data)
