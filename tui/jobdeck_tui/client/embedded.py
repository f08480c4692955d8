"""A backend of our own: started as a child, told from its ready line, ended with us.

The child is in a session of its own, so that Ctrl-C in the terminal does not reach it, and follows its
standard input: when this process ends in any way, even by SIGKILL, the pipe closes and the backend stops.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from jobdeck_tui.text.sanitise import one_line

from .errors import StartFailed
from .instance import Instance, running_instance

LOG_NAME = "backend.log"
LOG_BYTES_MAX = 5 << 20
READY_SECONDS = 30.0
READY_BYTES_MAX = 1 << 16
STOP_SECONDS = 10.0
TERMINATE_SECONDS = 3.0
IN_USE_EXIT = 10
NOT_WRITABLE_EXIT = 12
FAILED_EXIT = 1


class EmbeddedBackend:
    """One backend on ``state_dir``, started here or found running. Safe to stop from another thread."""

    def __init__(self, state_dir: Path, options: Sequence[str] = ()) -> None:
        self.state_dir = state_dir
        self._options = tuple(options)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._answered = False
        self._said_before = 0

    @property
    def log_path(self) -> Path:
        """Where the backend's own words go."""
        return self.state_dir / LOG_NAME

    @property
    def owned(self) -> bool:
        """Whether the backend was started here and ends with us."""
        return self._process is not None

    def start(self) -> Instance:
        """Attach to the running backend of this state directory, or start one and wait until it answers.

        Blocks for at most ``READY_SECONDS``.

        Raises:
            StartFailed: it could not start; the message has the last line of its log.
        """
        found = running_instance(self.state_dir)
        if found is not None:
            return found
        with self._open_log() as log:
            self._said_before = log.tell()
            self._process = self._spawn(log)
        try:
            instance = self._await_ready(self._process)
            self._answered = True
            return instance
        except StartFailed as failure:
            self.stop()
            self._process = None
            # Somebody else was faster: their backend is the one of this state directory.
            found = running_instance(self.state_dir) if failure.exit_code == IN_USE_EXIT else None
            if found is not None:
                return found
            raise

    def ended(self) -> str | None:
        """Say how a backend that was started here ended by itself; None while it runs."""
        if self._process is None or self._stopping.is_set() or self._process.poll() is None:
            return None
        return f"The backend ended with exit code {self._process.returncode}: {last_line(self.log_path)}"

    def stop(self) -> None:
        """End the backend if it was started here; returns when its process is gone."""
        self._stopping.set()
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        # One that is still importing looks at its input only seconds later; a signal ends it at once.
        first = None if self._answered else signal.SIGTERM
        for signal_number, seconds in ((first, STOP_SECONDS), (signal.SIGTERM, TERMINATE_SECONDS)):
            if signal_number is not None:
                process.send_signal(signal_number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
                break
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _open_log(self) -> BinaryIO:
        try:
            self.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.log_path.exists() and self.log_path.stat().st_size > LOG_BYTES_MAX:
                self.log_path.replace(self.log_path.with_suffix(".log.1"))
            descriptor = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            return os.fdopen(descriptor, "ab")
        except OSError as error:
            message = f"The state directory {self.state_dir} cannot be written ({error.strerror})."
            raise StartFailed(message, NOT_WRITABLE_EXIT) from error

    def _spawn(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "jobdeck_backend",
            "--follow-stdin",
            "--state-dir",
            str(self.state_dir),
        ]
        # A port of its own choice, unless one was asked for: two decks must not meet on one port.
        if "--port" not in self._options:
            command += ["--port", "0"]
        return subprocess.Popen(
            [*command, *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )

    def _await_ready(self, process: subprocess.Popen[bytes]) -> Instance:
        line = self._first_line(process)
        try:
            ready = json.loads(line)
            return Instance(one_line(ready["url"], 300), int(ready["pid"]), self.state_dir)
        except (ValueError, KeyError, TypeError):
            pass
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        if process.returncode is None:
            problem, code = f"was not ready within {READY_SECONDS:.0f} s", FAILED_EXIT
        else:
            problem, code = f"ended with exit code {process.returncode}", process.returncode
        said = last_line(self.log_path, self._said_before)
        message = f"The backend {problem}: {said or 'it said nothing'} (log: {self.log_path})"
        raise StartFailed(message, code if code > 0 else FAILED_EXIT)

    def _first_line(self, process: subprocess.Popen[bytes]) -> bytes:
        """Read the ready line; what has come so far when the time is up, or the pipe or the program ends."""
        assert process.stdout is not None
        received = b""
        give_up_at = time.monotonic() + READY_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not self._stopping.is_set() and time.monotonic() < give_up_at:
                if not selector.select(timeout=0.25):
                    continue
                piece = os.read(process.stdout.fileno(), READY_BYTES_MAX)
                received += piece
                if not piece or b"\n" in received or len(received) > READY_BYTES_MAX:
                    break
        return received.split(b"\n", 1)[0]


def last_line(path: Path, start: int = 0) -> str:
    """Give the last line of a log that says something, as one safe line; ``start`` skips older bytes."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - 16_384, start))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((one_line(said.strip(), 500) for said in reversed(lines) if said.strip()), "")
