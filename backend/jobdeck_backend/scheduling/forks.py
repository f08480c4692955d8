"""The backend's end of the fork server: start a process, know when it is ready and when it is gone."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobdeck_backend.clock import anchor, now

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
    """Starts ``forkserver`` and speaks its line protocol."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._processes: dict[str, ForkedProcess] = {}

    async def start(self) -> None:
        """Spawn it and wait until its imports are done. Raises ``OSError`` when it does not come up."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "jobdeck_backend.scheduling.forkserver",
                str(os.getpid()),
                # Whenever it is started: the system's clock may have been set meanwhile.
                repr(anchor()),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                start_new_session=True,
            )
        serving = await self._line()
        if serving is None:
            raise OSError(f"the fork server did not start; see {self._log}")
        self._reading = asyncio.create_task(self._read(), name="forkserver")

    @property
    def running(self) -> bool:
        """Whether it can be asked."""
        return self._reading is not None and not self._reading.done()

    async def fork(
        self, role: str, name: str, log: Path, on_exit: Callable[[ForkedProcess], None], **request: Any
    ) -> ForkedProcess:
        """Start one process; answers at once, ``ready()`` tells the rest."""
        if self._process is None or self._process.stdin is None or not self.running:
            raise OSError("the fork server is not running")
        forked = ForkedProcess(name, on_exit)
        self._processes[name] = forked
        line = json.dumps({"role": role, "name": name, "log": str(log), **request})
        self._process.stdin.write(line.encode() + b"\n")
        await self._process.stdin.drain()
        return forked

    async def stop(self) -> None:
        """End it and everything it started; one that does not heed is killed, and all with it."""
        if self._process is not None and self._process.returncode is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), HEED_WITHIN_S)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL; the kernel ends everything it started."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def _line(self) -> dict[str, Any] | None:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        return json.loads(line) if line else None

    async def _read(self) -> None:
        while (line := await self._line()) is not None:
            forked = self._processes[line["name"]]
            match line["event"]:
                case "started":
                    forked.has_started(line["pid"])
                case "ready":
                    forked.became_ready(line)
                case "exited":
                    del self._processes[forked.name]
                    forked.has_exited(line["code"])
        # It is gone, and with it, by the kernel's hand, everything it started.
        for forked in self._processes.values():
            forked.has_exited(-signal.SIGKILL)
        self._processes.clear()
