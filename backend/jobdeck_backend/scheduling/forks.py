"""The backend's end of the fork server: start a process, know when it is ready and when it is gone."""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobdeck_backend.clock import anchor, now
from jobdeck_backend.scheduling import forkserver

READY_WITHIN_S = 20.0
HEED_WITHIN_S = 2.0


class ForkedProcess:
    """A scheduler or worker process. ``exited`` is the operating system's word, not a guess."""

    def __init__(self, name: str, on_exit: Callable[["ForkedProcess"], None]) -> None:
        self.name = name
        self.pid = 0
        self.exited = asyncio.Event()
        self.exit_code: int | None = None
        self.ready_at: float | None = None
        self._signal_at_start: signal.Signals | None = None
        self._on_exit = on_exit
        self._ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def ready(self) -> dict[str, Any]:
        """Its ready line. Raises ``OSError`` when it exits before, ``TimeoutError`` after 20 s."""
        return await asyncio.wait_for(asyncio.shield(self._ready), READY_WITHIN_S)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, as soon as it exists; nothing happens when it is gone already."""
        if not self.pid:
            self._signal_at_start = number
        elif not self.exited.is_set():
            with suppress(ProcessLookupError):  # reaped already, the word of it is on the way
                os.kill(self.pid, number)

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        await self.exited.wait()

    def has_started(self, pid: int) -> None:
        """The process exists."""
        self.pid = pid
        if self._signal_at_start is not None:
            self.signal(self._signal_at_start)

    def became_ready(self, line: dict[str, Any]) -> None:
        """The process told that it serves."""
        if not self._ready.done():
            self.ready_at = now()
            self._ready.set_result(line)

    def has_exited(self, code: int) -> None:
        """The process was reaped."""
        self.exit_code = code
        self.exited.set()
        if not self._ready.done():
            self._ready.set_exception(OSError(f"{self.name} exited with code {code} before it was ready"))
            self._ready.exception()  # seen, also when nobody waits
        self._on_exit(self)


class ForkServer:
    """The fork server's process, and its line protocol."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: _Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._serving: asyncio.Future[None]
        self._processes: dict[str, ForkedProcess] = {}

    def fork_early(self) -> None:
        """Have it forked from this process, whose imports it then need not repeat: while that has one thread."""
        self._process = _begin(self._log, _fork)

    async def start(self) -> None:
        """Wait until its imports are done, spawning it unless it was forked. Raises ``OSError``."""
        if self._process is None:
            self._process = _begin(self._log, _spawn)
        loop = asyncio.get_running_loop()
        self._serving = loop.create_future()
        answers = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), self._process.answers)
        self._reading = asyncio.create_task(self._read(self._process, answers), name="forkserver")
        await asyncio.wait([self._reading, self._serving], return_when=asyncio.FIRST_COMPLETED)
        if not self.running:
            raise OSError(f"the fork server did not start; see {self._log}")

    @property
    def running(self) -> bool:
        """Whether it can be asked."""
        return self._reading is not None and not self._reading.done()

    async def fork(
        self, role: str, name: str, log: Path, on_exit: Callable[[ForkedProcess], None], **request: Any
    ) -> ForkedProcess:
        """Start one process; answers at once, ``ready()`` tells the rest. Raises ``OSError``."""
        if self._process is None or not self.running:
            raise OSError("the fork server is not running")
        forked = ForkedProcess(name, on_exit)
        self._processes[name] = forked
        line = json.dumps({"role": role, "name": name, "log": str(log), "anchor": anchor(), **request})
        os.write(self._process.requests, line.encode() + b"\n")
        return forked

    async def stop(self) -> None:
        """End it and everything it started; one that does not heed is killed, and all with it."""
        if self._process is not None and self._reading is not None:
            self._process.end()
            await asyncio.wait([self._reading], timeout=HEED_WITHIN_S)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL; the kernel ends everything it started."""
        if self._process is not None and self._reading is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            await self._reading

    async def _read(self, process: "_Process", answers: asyncio.StreamReader) -> None:
        while line := await answers.readline():
            told = json.loads(line)
            if told["event"] == "serving":
                self._serving.set_result(None)
                continue
            forked = self._processes[told["name"]]
            match told["event"]:
                case "started":
                    forked.has_started(told["pid"])
                case "ready":
                    forked.became_ready(told)
                case "exited":
                    del self._processes[forked.name]
                    forked.has_exited(told["code"])
        # It is gone, and with it, by the kernel's hand, everything it started.
        self._process = None
        process.end()
        await asyncio.to_thread(os.waitpid, process.pid, 0)
        for forked in self._processes.values():
            forked.has_exited(-signal.SIGKILL)
        self._processes.clear()


class _Process:
    """The fork server as a process: where it is asked and where it answers are pipes."""

    def __init__(self, pid: int, requests: int, answers: int) -> None:
        self.pid, self.requests, self.answers = pid, requests, os.fdopen(answers, "rb", 0)
        # Full, and it hangs: an error then, for whoever asks.
        os.set_blocking(requests, False)

    def end(self) -> None:
        """Close the pipe that it ends with."""
        if self.requests >= 0:
            os.close(self.requests)
            self.requests = -1


def _begin(log: Path, begin: Callable[[Sequence[int]], int]) -> _Process:
    asked, requests = os.pipe()
    answers, answered = os.pipe()
    standard = asked, answered, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid = begin(standard)
    for descriptor in standard:
        os.close(descriptor)
    return _Process(pid, requests, answers)


def _fork(standard: Sequence[int]) -> int:
    parent = os.getpid()
    if pid := os.fork():
        return pid
    try:
        os.setsid()
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
        # The instance's lock among them, which must end with the backend.
        os.closerange(len(standard), os.sysconf("SC_OPEN_MAX"))
        forkserver.serve(parent)
    except BrokenPipeError:
        pass  # the backend ended meanwhile
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _spawn(standard: Sequence[int]) -> int:
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", forkserver.__name__, str(os.getpid())],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, own, number) for number, own in enumerate(standard)],
        setsid=True,
    )
