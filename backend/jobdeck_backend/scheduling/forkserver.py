"""The fork server: imports everything once, then forks on request.

A scheduler or worker forked from here is up in a tenth of a second and shares the imported code's memory with
its siblings; a fresh interpreter would spend two seconds of CPU on imports alone, at every recovery. The first
fork server is itself a fork of the starting backend; ``python -m jobdeck_backend.scheduling.forkserver PID`` is
the next, should that one be lost.

Its argument is the backend's process id. It reads requests (one JSON object a line) from its
standard input and tells on what was its standard output what becomes of the processes; children write their own
``ready`` line there. When its input ends, because the backend went away in whatever manner, it kills its children
and ends; should it be killed itself, the kernel kills them.
"""

import ctypes
import gc
import json
import os
import select
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from jobdeck_backend import clock
from jobdeck_backend.scheduling.line import open_line, tell

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
LINE_BYTES_MAX = 1 << 16


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel to kill this process when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def name_process(name: str) -> None:
    """What ``ps`` and ``top`` call this process: at most 15 bytes are kept."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())


def serve(parent_pid: int) -> None:
    """Serve until standard input ends."""
    name_process("forkserver")
    die_with_parent(parent_pid)
    open_line()
    from jobdeck_backend.scheduling import processes

    # A thread alive now would be missing, with its locks held, in every child.
    if threading.active_count() != 1:
        sys.exit("the fork server must have one thread; an import started another")
    gc.collect()
    gc.freeze()
    server = _ForkServer(processes.RUN)
    tell(event="serving", pid=os.getpid())
    server.serve()


class _ForkServer:
    def __init__(self, run: Any) -> None:
        self._run = run
        self._children: dict[int, str] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        pending = b""
        while True:
            readable, _, _ = select.select([0, self._wake_read], [], [])
            if self._wake_read in readable:
                os.read(self._wake_read, 4096)
                self._reap()
            if 0 not in readable:
                continue
            data = os.read(0, LINE_BYTES_MAX)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._fork(json.loads(line))
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def _fork(self, request: dict[str, Any]) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self._children[pid] = request["name"]
            return
        try:
            name_process(request["name"])
            # Whenever it is started: the system's clock may have been set meanwhile.
            clock.adopt(request["anchor"])
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._wake_read)
            os.close(self._wake_write)
            die_with_parent(parent)
            tell(event="started", name=request["name"], pid=os.getpid())
            _redirect(Path(request["log"]))
            self._run[request["role"]](request)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            tell(event="exited", name=self._children.pop(pid), code=os.waitstatus_to_exitcode(status))


def _redirect(log: Path) -> None:
    """Input from nowhere, whatever is printed to the log."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.close(written)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
