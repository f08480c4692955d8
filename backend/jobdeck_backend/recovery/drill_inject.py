"""Doing the harm, and undoing it: what a drill signals or drops, and how that is ended by hand."""

import signal

from jobdeck_backend.errors import InvalidInput, NotEligible
from jobdeck_backend.recovery.drill_before import Before
from jobdeck_backend.recovery.drill_faults import SchedulerHang, SchedulerLoss, WorkerHang, WorkerLoss
from jobdeck_backend.recovery.drill_record import Drill
from jobdeck_backend.recovery.drill_streams import Readers, StreamDrop, Streams
from jobdeck_backend.recovery.drill_watch import Watch
from jobdeck_backend.scheduling.forks import ForkedProcess
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.engine import Database


class Injection:
    """A fault that was injected elsewhere: there is nothing to undo."""

    def inject(self) -> str:
        """Do it; answers what was done, in words."""
        return ""

    def heal(self) -> str:
        """Undo what can be undone; answers what was done, empty when there was nothing."""
        return ""

    async def end(self) -> None:
        """The drill is over: whatever came of it, nothing of its doing stays."""
        self.heal()


class Signalled(Injection):
    """A process killed or stopped."""

    def __init__(self, process: ForkedProcess, number: signal.Signals) -> None:
        self._process = process
        self._number = number

    def inject(self) -> str:
        """Send the signal."""
        self._process.signal(self._number)
        return f"{self._number.name} to {self._process.name} (pid {self._process.pid})"

    def heal(self) -> str:
        """Let what was stopped go on."""
        if self._number is not signal.SIGSTOP or self._process.exited.is_set():
            return ""
        self._process.signal(signal.SIGCONT)
        return f"SIGCONT to {self._process.name} (pid {self._process.pid})"


class Dropped(Injection):
    """Every stream dropped; the drill's own readers are among those that come back."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def inject(self) -> str:
        """Drop them."""
        others = self._readers.drop()
        return f"connections dropped: {others}, and of the drill's own readers: {len(self._readers.all)}"

    async def end(self) -> None:
        """Let the drill's own readers go."""
        await self._readers.stop()


class Injector:
    """Chooses the target and what is expected of its loss."""

    def __init__(self, settings: Settings, database: Database, cluster: Cluster, streams: Streams) -> None:
        self._settings = settings
        self._database = database
        self._cluster = cluster
        self._streams = streams

    async def prepare(self, drill: Drill, before: Before, target: str | None) -> tuple[Watch, Injection]:
        """The watch and the injection of a fault; names its target. Raises ``InvalidInput``, ``NotEligible``."""
        parts = (self._settings, self._database, self._cluster, drill, before)
        if drill.fault == "stream-drop":
            readers = Readers(self._streams, before)
            await readers.start()
            return StreamDrop(*parts, readers), Dropped(readers)
        process = self._process(drill, before, target)
        drill.target = process.name
        match drill.fault:
            case "scheduler-loss":
                return SchedulerLoss(*parts), Signalled(process, signal.SIGKILL)
            case "scheduler-hang":
                return SchedulerHang(*parts), Signalled(process, signal.SIGSTOP)
            case "worker-loss":
                return WorkerLoss(*parts), Signalled(process, signal.SIGKILL)
            case _:
                return WorkerHang(*parts, process), Signalled(process, signal.SIGSTOP)

    def _process(self, drill: Drill, before: Before, target: str | None) -> ForkedProcess:
        if not self._cluster.embedded:
            raise NotEligible(
                f"{drill.fault} needs a cluster of the server's own: the processes of the one at "
                f"{self._cluster.address} are others' to end; stream-drop and api-loss can be drilled. "
                "Nothing was done"
            )
        if drill.fault.startswith("scheduler"):
            assert self._cluster.scheduler is not None
            return self._cluster.scheduler
        workers = self._cluster.workers
        if target is None:
            chosen = max(workers, key=before.running_on, default=None)
        else:
            chosen = target if target in workers else None
        if chosen is None:
            raise InvalidInput(f"there is no worker {target}; there are: {', '.join(workers) or 'none'}")
        return workers[chosen]
