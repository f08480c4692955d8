"""A throw-away Redis server of the distribution's program, on a socket in a directory of its own."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

START_S = 20.0


class RedisServer:
    """One server process; nothing of it is kept."""

    def __init__(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("needs Redis's own program (Debian: redis-server)")
        self.directory = Path(tempfile.mkdtemp(prefix="jobdeck-redis-", dir="/tmp"))
        socket = self.directory / "socket"
        self.url = f"unix://{socket}"
        options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(self.directory))
        self._process = subprocess.Popen(
            [program, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        until = time.monotonic() + START_S
        while not socket.exists():
            assert time.monotonic() < until, "redis-server does not start"
            time.sleep(0.01)

    def remove(self) -> None:
        """End it, with all that it has."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.directory)
