"""The deck in a terminal of the test's own."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence

START = """
import sys
from jobdeck_tui.reaching import Reaching
from jobdeck_tui.running import run_on
sys.exit(run_on(Reaching(sys.argv[1])))
"""
NOBODY = "http://127.0.0.1:9"


class Terminal:
    """A pty with the deck in it."""

    def __init__(self, url: str = NOBODY, program: Sequence[str] = (), **environment: str) -> None:
        """The deck on a server; or another ``program``, as arguments of the interpreter."""
        self.main, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.state = tempfile.TemporaryDirectory()
        mine = {"TERM": "xterm-256color", "JOBDECK_STATE_DIR": self.state.name}
        env = {**os.environ, **mine, **environment}
        self.process = subprocess.Popen(
            [sys.executable, *(program or ("-c", START, url))],
            stdin=child,
            stdout=child,
            stderr=child,
            env=env,
            close_fds=True,
        )
        os.close(child)
        self.sent = b""

    def read_until(self, wanted: bytes, seconds: float = 15.0) -> None:
        give_up = time.monotonic() + seconds
        while wanted not in self.sent:
            assert time.monotonic() < give_up, self.sent[-2000:]
            self.read(0.2)

    def read(self, seconds: float) -> bool:
        if not select.select([self.main], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.main, 65536)
        except OSError:
            return False
        self.sent += piece
        return bool(piece)

    def end(self) -> int:
        while self.process.poll() is None and self.read(0.2):
            pass
        code = self.process.wait(15)
        while self.read(0.05) and select.select([self.main], [], [], 0)[0]:
            pass
        os.close(self.main)
        return code
