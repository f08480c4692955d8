"""On the path of a process under test: its wall clock is off by the seconds that a file says at each look."""

import os
import time
from pathlib import Path

_true_time = time.time
_offset = Path(os.environ["JOBDECK_TEST_CLOCK"])


def _stepped_time() -> float:
    return _true_time() + float(_offset.read_text() or 0)


time.time = _stepped_time
