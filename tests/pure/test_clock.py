"""Wall time that cannot jump (R11)."""

import json
import os
import subprocess
import sys
from pathlib import Path

from jobdeck_backend import clock

FORKS_THAT_TELL_THE_TIME = """
import sys
from jobdeck_backend import clock
from jobdeck_backend.scheduling import forkserver, processes

processes.RUN["clock"] = lambda request: print(clock.now(), flush=True)
forkserver.serve(int(sys.argv[1]))
"""


def test_r11_a_process_forked_after_the_clock_was_set_tells_its_backends_time(tmp_path: Path) -> None:
    an_hour_ago = clock.anchor() - 3600  # the backend's, before somebody set the clock
    told = tmp_path / "told"
    request = {"role": "clock", "name": "clock", "log": str(told), "anchor": an_hour_ago}
    with subprocess.Popen(
        [sys.executable, "-c", FORKS_THAT_TELL_THE_TIME, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps(request), file=server.stdin, flush=True)
        for line in server.stdout:
            if json.loads(line)["event"] == "exited":
                server.stdin.close()
    assert abs(float(told.read_text()) - (clock.now() - 3600)) < 60
