"""Real processes for the deck's tests, and waiting for what they do."""

import os
from contextlib import contextmanager
from pathlib import Path

import running_backend
from running_backend import RunningBackend


def wait_until(condition):
    """As other tests wait, but longer: here several programs take part."""
    return running_backend.wait_until(condition, 30.0)


def is_alive(pid):
    """Whether a process still runs; one that ended and was not yet waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@contextmanager
def backend(state_dir, *options, made_up=False):
    """Run a real backend on ``state_dir``; what it leaves is held to the invariants, made-up rows are not."""
    running = RunningBackend(state_dir, *options)
    try:
        yield running
    finally:
        if made_up:
            running.stop()
        else:
            running.finish()
