"""What each fault of a process is expected to lead to, and by when. Seconds count from the injection."""

import signal
from collections.abc import Sequence

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.recovery import drill_judgement as judgement
from jobdeck_backend.recovery.drill_before import Before
from jobdeck_backend.recovery.drill_record import Drill, Step
from jobdeck_backend.recovery.drill_watch import GIVE_UP_S, Expectation, Nothing, Watch
from jobdeck_backend.scheduling.forks import ForkedProcess
from jobdeck_backend.scheduling.snapshot import DaskWorker, Snapshot
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs
from jobdeck_backend.store.engine import Database

LOOK_LATE_S = 0.5
"""A bound is kept by whoever looks often enough to see it: the cluster's probes and ours."""
NOTICED_S = 0.5
PROCESSES_BACK_S = 2.0
REQUEUED_S = 2.0
RUNNING_AGAIN_S = 5.0
RUNNING_AFTER_HANG_S = 2.0
"""Beyond the moment at which the scheduler is given up."""
SILENT_S = 1.5
"""Dask's workers are heard twice a second."""
SILENCE_SEEN_S = 4.0
API_BACK_S = 10.0
API_RUNNING_S = 15.0


class SchedulerLoss(Watch):
    """Every execution ends with the epoch."""

    def _expectations(self) -> list[Expectation]:
        return [
            Expectation("noticed", NOTICED_S, self._noticed, first=True),
            Expectation("requeued", REQUEUED_S, self._requeued),
            Expectation("epoch up", PROCESSES_BACK_S, self._epoch_up),
            Expectation("running again", RUNNING_AGAIN_S, self._running_again),
            Expectation("next stages", None, self._next_stages),
        ]

    def _noticed(self, _tx: Connection) -> str | None:
        if self._cluster.state in {"up", "suspect"} and self._cluster.epoch == self._before.epoch:
            return None
        return f"the loss of epoch {self._before.epoch} was noticed"


class SchedulerHang(SchedulerLoss):
    """As its loss, after a time in which it may only be busy."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        cluster: Cluster,
        drill: Drill,
        before: Before,
    ) -> None:
        self._suspect_s, self._lost_s = settings.scheduler_suspect_s, settings.scheduler_lost_s
        self.give_up_s = self._lost_s + GIVE_UP_S
        super().__init__(settings, database, cluster, drill, before)

    def _expectations(self) -> list[Expectation]:
        return [
            Expectation("suspect", self._suspect_s + LOOK_LATE_S, self._suspected, first=True),
            Expectation("noticed", self._lost_s + LOOK_LATE_S, self._noticed, first=True),
            Expectation("requeued", self._lost_s + RUNNING_AFTER_HANG_S, self._requeued),
            Expectation("epoch up", self._lost_s + RUNNING_AFTER_HANG_S, self._epoch_up),
            Expectation("running again", self._lost_s + RUNNING_AFTER_HANG_S, self._running_again),
            Expectation("next stages", None, self._next_stages),
        ]

    def _suspected(self, tx: Connection) -> str | None:
        if self._cluster.state == "suspect" or self._noticed(tx):
            return "the scheduler is shown as suspect: it may only be busy"
        return None


class WorkerLoss(Watch):
    """What ran on one worker ends, and nothing else."""

    def _attempts_hit(self) -> Sequence[Attempt]:
        return [one for one in self._before.attempts if one.worker == self._drill.target]

    def _expectations(self) -> list[Expectation]:
        return [
            Expectation("noticed", NOTICED_S, self._noticed, first=True),
            Expectation("requeued", REQUEUED_S, self._requeued),
            Expectation("replaced", PROCESSES_BACK_S, self._replaced),
            Expectation("running again", RUNNING_AGAIN_S, self._running_again),
            Expectation("next stages", None, self._next_stages),
        ]

    def _extra_judgement(self, tx: Connection) -> list[Step]:
        return [judgement.untouched_others(tx, self._before, self._hit)]

    def _noticed(self, _tx: Connection) -> str | None:
        gone = not self._cluster.is_alive(self._drill.target or "")
        return f"the loss of {self._drill.target} was noticed" if gone else None

    def _replaced(self, _tx: Connection) -> str | None:
        snapshot = self._cluster.snapshot
        names = {worker.name for worker in snapshot.workers} if snapshot else set()
        new = names & set(self._cluster.workers) - self._before.workers
        return f"{', '.join(sorted(new))} is up in its place" if new else None


class WorkerHang(WorkerLoss):
    """Its heartbeats stop; its jobs are taken from it; then it goes on, and may change nothing."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        cluster: Cluster,
        drill: Drill,
        before: Before,
        process: ForkedProcess,
    ) -> None:
        self._stale_s = settings.heartbeat_stale_s
        self._process = process
        self._continued_at = 0.0
        self.give_up_s = self._stale_s + GIVE_UP_S
        super().__init__(settings, database, cluster, drill, before)

    def _expectations(self) -> list[Expectation]:
        # Without a job there is no heartbeat to miss: only Dask's own word tells of it.
        taken_s = self._stale_s + REQUEUED_S if self._hit else None
        return [
            Expectation("suspect", SILENCE_SEEN_S, self._silent, first=True),
            Expectation("requeued", taken_s, self._requeued, first=True),
            Expectation("continued", None, self._continued, first=True),
            Expectation("overtaken", None, self._let_go),
            Expectation("running again", taken_s and taken_s + RUNNING_AGAIN_S, self._running_again),
            Expectation("next stages", None, self._next_stages),
        ]

    def _extra_judgement(self, tx: Connection) -> list[Step]:
        return [*super()._extra_judgement(tx), judgement.overtaken_writes(tx, self._hit)]

    def _is_mended(self) -> bool:
        return {one.step for one in self.open} <= {"overtaken", "running again", "next stages"}

    def _silent(self, tx: Connection) -> str | None:
        if self._noticed(tx):
            return f"{self._drill.target} is gone"
        snapshot = self._cluster.snapshot
        mine = None if snapshot is None else self._stopped_in(snapshot)
        if mine is None or mine.last_seen_age < SILENT_S:
            return None
        return f"{self._drill.target} is silent; it may only be busy, its jobs are left to it"

    def _continued(self, tx: Connection) -> str | None:
        if self._noticed(tx):
            return f"{self._drill.target} was given up by Dask and replaced before it could go on"
        self._process.signal(signal.SIGCONT)
        self._continued_at = now()
        return f"SIGCONT to {self._drill.target}: it goes on where it stopped"

    def _let_go(self, tx: Connection) -> str | Nothing | None:
        """Its threads execute no more than what is on record: those that lost their job have ended."""
        if not self._hit:
            return Nothing(f"{self._drill.target} ran nothing: it has nothing to let go of")
        if self._noticed(tx):
            return f"{self._drill.target} is gone and writes nothing"
        snapshot = self._cluster.snapshot
        if snapshot is None:
            return None
        mine = self._stopped_in(snapshot)
        if mine is None or snapshot.read_at - mine.last_seen_age <= self._continued_at:
            return None
        on_record = sum(one.worker == self._drill.target for one in jobs.live_attempts(tx))
        if mine.executing > on_record:
            return None
        return f"{self._drill.target} learned at its next write that its jobs are another's, and let go"

    def _stopped_in(self, snapshot: Snapshot) -> DaskWorker | None:
        """The stopped worker as Dask sees it."""
        return next((one for one in snapshot.workers if one.name == self._drill.target), None)


class ApiLoss(Watch):
    """The backend itself was killed, its own cluster with it; the one that runs now took its records up."""

    give_up_s = 2 * GIVE_UP_S

    def _attempts_hit(self) -> Sequence[Attempt]:
        """Workers of others go on."""
        return self._before.attempts if self._cluster.embedded else []

    def _is_hit(self) -> bool:
        return bool(self._before.attempts)

    def _expectations(self) -> list[Expectation]:
        return [
            Expectation("answering", API_BACK_S, self._answering),
            Expectation("requeued", API_RUNNING_S, self._requeued),
            Expectation("epoch up", API_RUNNING_S, self._epoch_up),
            Expectation("running again", API_RUNNING_S, self._running_again),
            Expectation("next stages", None, self._next_stages),
        ]

    def _extra_judgement(self, tx: Connection) -> list[Step]:
        return [
            judgement.kept_jobs(tx, self._before),
            judgement.untouched_others(tx, self._before, self._hit),
        ]

    def _answering(self, _tx: Connection) -> str | None:
        return "a new backend has taken the state directory up"
