"""Wall time that cannot jump (R11)."""

import os
import subprocess
import sys

from jobdeck_backend import clock

SERVE_AND_TELL_THE_TIME = """
import sys
from jobdeck_backend import clock
from jobdeck_backend.scheduling import forkserver

forkserver.main()
print(clock.now(), file=sys.stderr)
"""


def test_r11_a_fork_server_started_after_the_clock_was_set_tells_its_backends_time() -> None:
    an_hour_ago = clock.anchor() - 3600  # the backend's, before somebody set the clock
    told = subprocess.run(
        [sys.executable, "-c", SERVE_AND_TELL_THE_TIME, str(os.getpid()), repr(an_hour_ago)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert abs(float(told.stderr) - (clock.now() - 3600)) < 60
