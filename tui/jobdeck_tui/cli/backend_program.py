"""The backend's small programs, each in a process of its own: nothing of the backend is imported here."""

import os
import subprocess
import sys
from collections.abc import Collection

from .exits import OK, Exit


def run_program(module: str, *arguments: str, fine: Collection[int] = (OK,), **variables: str) -> str:
    """Run ``jobdeck_backend.MODULE`` with these variables set and give what it printed.

    Raises:
        Exit: it ended with none of the codes that are ``fine``; its own code and sentence.
    """
    done = subprocess.run(
        [sys.executable, "-m", f"jobdeck_backend.{module}", *arguments],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in fine:
        raise Exit(done.returncode, done.stderr.strip().removeprefix("jobdeck: "))
    return done.stdout
