"""Killing this machine's backend and starting it again as it was started: the drill of the backend's own loss.

How it was started is what the kernel knows of its process; nothing of it is written anywhere.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from .embedded import FAILED_EXIT, EmbeddedBackend
from .errors import StartFailed
from .instance import Instance, running_instance

MODULE = "jobdeck_backend"
FOLLOW = "--follow-stdin"
GONE_SECONDS = 5.0
LOOK_SECONDS = 0.01


class Restart(EmbeddedBackend):
    """One running backend, to be killed and started again; the new one outlives this process."""

    def __init__(self, instance: Instance) -> None:
        """Read how it was started.

        Raises:
            StartFailed: it cannot be started again from here; nothing was done to it.
        """
        super().__init__(instance.state_dir)
        self.killed = instance
        process = Path("/proc") / str(instance.pid)
        try:
            arguments = os.fsdecode((process / "cmdline").read_bytes()).split("\0")[:-1]
            variables = os.fsdecode((process / "environ").read_bytes()).split("\0")
            self._directory = (process / "cwd").resolve(strict=True)
        except OSError as error:
            raise self._unable(error.strerror or str(error)) from error
        if MODULE not in arguments:
            raise self._unable("its process is not one that jobdeck started")
        self._arguments = [one for one in arguments[arguments.index(MODULE) + 1 :] if one != FOLLOW]
        self._variables = dict(one.split("=", 1) for one in variables if "=" in one)
        self.was_followed = FOLLOW in arguments
        """It would have ended with whoever started it; the new one runs until it is told to stop."""

    def kill(self) -> None:
        """SIGKILL, and wait until nothing of it holds the state directory.

        Raises:
            StartFailed: it is still there.
        """
        os.kill(self.killed.pid, signal.SIGKILL)
        give_up_at = time.monotonic() + GONE_SECONDS
        while running_instance(self.state_dir) is not None:
            if time.monotonic() >= give_up_at:
                raise StartFailed(f"The backend {self.killed.pid} does not end.", FAILED_EXIT)
            time.sleep(LOOK_SECONDS)

    def _unable(self, why: str) -> StartFailed:
        return StartFailed(
            f"The backend {self.killed.pid} could not be started again from here ({why}); nothing was done.",
            FAILED_EXIT,
        )

    def _spawn(self, log: BinaryIO) -> "subprocess.Popen[bytes]":
        # The same address, so that everybody finds it again; of an option given twice the last one counts.
        place = ["--state-dir", str(self.state_dir.absolute()), "--port", str(urlsplit(self.killed.url).port)]
        return subprocess.Popen(
            [sys.executable, "-m", MODULE, *self._arguments, *place],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=self._variables,
            cwd=self._directory,
            start_new_session=True,
        )
