"""A backend's process without its imports: forked from one that has done them, and otherwise as if just started.

Each start of an interpreter would spend three seconds of CPU before the first line of a test. What a process
inherits here is code alone: its arguments, variables, directory, standard streams and session are its own.
"""

import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
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
    """A line to the one server of this run of tests, which whoever comes first has started."""
    address = f"\0jobdeck-warm-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    while line.connect_ex(address):
        _start_server(address)
        time.sleep(LOOK_S)
    return line


def _start_server(address: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        try:
            listening.bind(address)
        except OSError:  # another process of the run has just done it
            return
        listening.listen()
        env = {name: value for name, value in os.environ.items() if not name.startswith("JOBDECK_")}
        subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            env={MARK: "x" * MARK_BYTES, **env},
            stdin=subprocess.DEVNULL,
        )


def serve(listening: socket.socket) -> None:
    """Fork whenever asked, until nobody is left who could ask; returns in each fork, to be the backend."""
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
    for line, request, descriptors in _requests(listening):
        if "poll" in request:
            reap()
            _answer(line, codes.get(request["poll"]))
            continue
        pid = os.fork()
        if pid == 0:
            _become(request, descriptors)
            return
        _answer(line, pid)
        for descriptor in descriptors:
            os.close(descriptor)
    sys.exit()


def _answer(line: socket.socket, value: object) -> None:
    with suppress(ConnectionError):
        line.send(json.dumps(value).encode())


def _requests(listening: socket.socket) -> Iterator[tuple[socket.socket, dict[str, Any], list[int]]]:
    """What is asked, by whom, and the descriptors sent with it."""
    lines = [listening.accept()[0]]
    while lines:
        ready, _, _ = select.select([listening, *lines], [], [])
        for line in ready:
            if line is listening:
                lines.append(listening.accept()[0])
                continue
            message, descriptors = b"", []
            with suppress(ConnectionError):  # who asked was killed: the others go on
                message, descriptors, _, _ = socket.recv_fds(line, MESSAGE_BYTES_MAX, 3)
            if message:
                yield line, json.loads(message), descriptors
            else:
                lines.remove(line)
    listening.close()  # who comes now has another server started


def _import_everything() -> None:
    import prometheus_client  # noqa: F401
    from distributed.versions import get_versions
    from jobdeck_backend import __main__ as backend  # noqa: F401
    from jobdeck_backend.scheduling import worker  # noqa: F401  what the fork server goes on to import
    from jobdeck_backend.workflows.registry import WORKFLOWS

    for workflow in WORKFLOWS:
        workflow.load()
    get_versions()


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
    threading._shutdown()  # who waits for a thread for ever is seen to
    os._exit(0)  # an interpreter's end takes everything apart that was imported
