"""A backend's process without its imports: forked from one that has done them, and otherwise as if just started.

Each start of an interpreter would spend three seconds of CPU before the first line of a test. What a process
inherits here is code alone: its arguments, variables, directory, standard streams and session are its own.
"""

import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

MARK = "JOBDECK_STATE_DIR"
MARK_BYTES = 512
MESSAGE_BYTES_MAX = 1 << 17
PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.02


class WarmProcess:
    """``python -m jobdeck_backend`` in a session of its own: the part of ``subprocess.Popen`` that tests need."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str], stderr: IO[bytes]) -> None:
        """Start it; its standard input and output are pipes."""
        stdin, our_stdin = os.pipe()
        our_stdout, stdout = os.pipe()
        request = {"arguments": arguments, "env": dict(env), "cwd": str(Path.cwd())}
        self.pid = int(_ask(request, stdin, stdout, stderr.fileno()))
        os.close(stdin)
        os.close(stdout)
        self.stdin: IO[bytes] = os.fdopen(our_stdin, "wb", 0)
        self.stdout: IO[bytes] = os.fdopen(our_stdout, "rb")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, if it ended."""
        if self.returncode is None:
            self.returncode = _ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout_s: float = 60.0) -> int:
        """Wait for its exit code. Raises ``subprocess.TimeoutExpired``."""
        until = time.monotonic() + timeout_s
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("jobdeck_backend", timeout_s)
            time.sleep(LOOK_S)
        return code

    def kill(self) -> None:
        """SIGKILL."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended since: another process reaps it
                os.kill(self.pid, signal.SIGKILL)


def _ask(request: Mapping[str, Any], *descriptors: int) -> Any:
    server = _server()
    socket.send_fds(server, [json.dumps(request).encode()], descriptors)
    return json.loads(server.recv(MESSAGE_BYTES_MAX))


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {name: value for name, value in os.environ.items() if not name.startswith("JOBDECK_")}
    subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        env={MARK: "x" * MARK_BYTES, **env},
        stdin=subprocess.DEVNULL,
    )
    theirs.close()
    return ours


def serve(asked: socket.socket) -> None:
    """Fork whenever asked, until nobody can ask any more; returns in each fork, to be the backend."""
    _import_everything()
    gc.collect()
    gc.freeze()
    codes: dict[int, int] = {}

    def reap(*_signal: object) -> None:
        with_children = True
        while with_children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            with_children = pid != 0
            codes[pid] = os.waitstatus_to_exitcode(status)

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a killed backend leaves is reaped too
    signal.signal(signal.SIGCHLD, reap)
    while True:
        message, descriptors, _, _ = socket.recv_fds(asked, MESSAGE_BYTES_MAX, 3)
        if not message:
            sys.exit()
        request = json.loads(message)
        if "poll" in request:
            reap()
            asked.send(json.dumps(codes.get(request["poll"])).encode())
            continue
        pid = os.fork()
        if pid == 0:
            _become(request, descriptors)
            return
        asked.send(json.dumps(pid).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _import_everything() -> None:
    from jobdeck_backend import __main__ as backend  # noqa: F401
    from jobdeck_backend.scheduling import worker  # noqa: F401  what the fork server goes on to import
    from jobdeck_backend.workflows.registry import WORKFLOWS

    for workflow in WORKFLOWS:
        workflow.load()


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(len(descriptors), os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    _show_mark(request["env"][MARK])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[1:] = request["arguments"]


def _show_mark(value: str) -> None:
    """Put the variable by which processes are found where the kernel shows it: in what they began with."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    ctypes.memmove(libc.getenv(MARK.encode()), value.encode().ljust(MARK_BYTES, b"\0"), MARK_BYTES)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    from jobdeck_backend.__main__ import main

    main()
