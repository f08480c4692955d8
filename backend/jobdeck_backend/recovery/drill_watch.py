"""What a drill looks for: the loss noticed, processes back, jobs back, and that no completed stage ran again."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt, Status
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.recovery import fsck
from jobdeck_backend.recovery.drill_record import Drill, Evidence, Step
from jobdeck_backend.scheduling.cluster import EmbeddedCluster
from jobdeck_backend.scheduling.views import views
from jobdeck_backend.store import drills, events, figures, jobs, rows
from jobdeck_backend.store.engine import Database

NOTICED_S = 0.5
PROCESSES_BACK_S = 2.0
REQUEUED_S = 2.0
RUNNING_AGAIN_S = 5.0
EVIDENCE_ROWS_MAX = 200

StageKey = tuple[str, int]
Look = Callable[[Connection], str | None]
"""What was seen, in words, once it is seen."""


@dataclass(frozen=True)
class Before:
    """The records just before the fault."""

    position: int
    attempts: Sequence[Attempt]
    """Those in progress."""
    unfinished: Sequence[str]
    """In dispatch order."""
    stages: Mapping[str, Mapping[StageKey, str]]
    """``job → (node, step) → output hash`` of the completed stages."""

    def running_on(self, worker: str) -> int:
        """How many attempts a worker has in progress."""
        return sum(one.worker == worker for one in self.attempts)


def look_before(database: Database) -> Before:
    """Read what the drill will compare with."""
    stages: dict[str, dict[StageKey, str]] = defaultdict(dict)
    with database.read() as tx:
        for job_id, node, step, output_hash in drills.unfinished_stages(tx):
            stages[job_id][node, step] = output_hash
        return Before(
            position=events.last_position(tx),
            attempts=jobs.live_attempts(tx),
            unfinished=[row.job_id for row in figures.line(tx)],
            stages=stages,
        )


@dataclass
class _Expectation:
    step: str
    expected_s: float | None
    look: Look


class Watch:
    """The expectations of one drill that were not seen yet."""

    def __init__(
        self, database: Database, state_dir: Path, cluster: EmbeddedCluster, drill: Drill, before: Before
    ) -> None:
        """Made just before the injection: what is true then is what must come back."""
        self._database = database
        self._state_dir = state_dir
        self._cluster = cluster
        self._drill = drill
        self._before = before
        self._epoch = cluster.epoch
        self._workers = frozenset(cluster.workers)
        lost = drill.fault == "scheduler-loss"
        self._hit = [one for one in before.attempts if lost or one.worker == drill.target]
        self.open = [
            _Expectation("noticed", NOTICED_S, self._noticed_scheduler if lost else self._noticed_worker),
            _Expectation("requeued", REQUEUED_S, self._requeued),
            _Expectation(
                "epoch up" if lost else "replaced",
                PROCESSES_BACK_S,
                self._epoch_up if lost else self._replaced,
            ),
            _Expectation("running again", RUNNING_AGAIN_S, self._running_again),
            # Without it the judgement on repeated stages would come before any stage could repeat.
            _Expectation("next stages", None, self._next_stages),
        ]

    def look(self) -> bool:
        """Look for each open expectation once; whether any was seen."""
        seen = False
        with self._database.read() as tx:
            for one in list(self.open):
                text = one.look(tx)
                if text is not None:
                    self._drill.add(Step(one.step, text, one.expected_s), now())
                    self.open.remove(one)
                    seen = True
                elif one.step == "noticed":
                    break  # what follows is read against a cluster that does not know of its loss yet
        return seen

    def judge(self) -> None:
        """End the drill: what was never seen has failed, the evidence is read, the verdict given."""
        for one in self.open:
            self._drill.add(Step(one.step, "not seen", one.expected_s, failed=True), now())
        with self._database.read() as tx:
            self._drill.evidence = self._evidence(tx)
            if self._drill.fault == "worker-loss":
                self._judge_others(tx)
        repeated = sum(one.repeated for one in self._drill.evidence)
        completed = sum(len(one.stages_before) for one in self._drill.evidence)
        text = f"{repeated} of {completed} stages completed before ran again"
        self._drill.add(Step("repeated", text, None, failed=repeated > 0), now())
        violations = fsck.check_instance(self._database, self._state_dir)
        text = f"{len(fsck.CHECKS)} invariants checked on all records, {len(violations)} violations"
        self._drill.add(Step("invariants", text, None, failed=bool(violations)), now())
        self._drill.end("passed" if self._drill.holds else "failed", now())

    # What is looked for.

    def _noticed_scheduler(self, _tx: Connection) -> str | None:
        if self._cluster.state in {"up", "suspect"} and self._cluster.epoch == self._epoch:
            return None
        return f"the loss of epoch {self._epoch} was noticed"

    def _noticed_worker(self, _tx: Connection) -> str | None:
        gone = not self._cluster.is_alive(self._drill.target or "")
        return f"the loss of {self._drill.target} was noticed" if gone else None

    def _epoch_up(self, _tx: Connection) -> str | None:
        if self._cluster.epoch == self._epoch or self._cluster.state != "up":
            return None
        return f"epoch {self._cluster.epoch} is up with {len(self._cluster.workers)} workers"

    def _replaced(self, _tx: Connection) -> str | None:
        snapshot = self._cluster.snapshot
        names = {worker.name for worker in snapshot.workers} if snapshot else set()
        new = names & set(self._cluster.workers) - self._workers
        return f"{', '.join(sorted(new))} is up in its place" if new else None

    def _requeued(self, tx: Connection) -> str | None:
        ended = {(one.job_id, one.attempt) for one in self._hit} - {
            (one.job_id, one.attempt) for one in jobs.live_attempts(tx)
        }
        if not self._hit:
            return "no job ran there"
        if len(ended) < len(self._hit):
            return None
        return f"{len(self._hit)} of {len(self._hit)} interrupted jobs taken back, none lost"

    def _running_again(self, tx: Connection) -> str | None:
        if not self._hit:
            return "no job has to come back"
        live = jobs.live_attempts(tx)
        number = {one.job_id: one.attempt for one in live}
        views = _views(tx, self._cluster, [one.job_id for one in self._hit])
        back = [
            one.job_id
            for one in self._hit
            if number.get(one.job_id, 0) > one.attempt or _is_settled(views[one.job_id])
        ]
        if len(back) == len(self._hit):
            return f"{len(back)} of {len(self._hit)} interrupted jobs run again or are finished"
        snapshot = self._cluster.snapshot
        if self._is_mended() and snapshot is not None and len(live) >= snapshot.slots > 0:
            return f"all {snapshot.slots} slots are at work; {len(back)} of {len(self._hit)} interrupted jobs run"
        return None

    def _is_mended(self) -> bool:
        """Whether processes and records are back: from then on the slots are filled again."""
        return {one.step for one in self.open} <= {"running again", "next stages"}

    def _next_stages(self, tx: Connection) -> str | None:
        """Every interrupted job that runs again has gone on to a stage."""
        ids = [one.job_id for one in self._hit]
        began = {event.job_id for event in self._stage_starts(tx, ids)}
        views = _views(tx, self._cluster, ids)
        waited_for = [
            one.job_id
            for one in self._hit
            if views[one.job_id].source.status == Status.RUNNING and one.job_id not in began
        ]
        not_back = any(one.step == "running again" for one in self.open)
        if waited_for or not_back:
            return None
        return f"{len(began)} resumed jobs went on to their next stage"

    # The judgement.

    def _judge_others(self, tx: Connection) -> None:
        """A worker's loss is nobody else's."""
        hit = {one.job_id for one in self._hit}
        touched = [
            one.job_id
            for one in self._before.attempts
            if one.job_id not in hit
            and any(
                now_one.attempt == one.attempt and now_one.end_reason in {"worker lost", "scheduler lost"}
                for now_one in jobs.load_attempts(tx, one.job_id)
            )
        ]
        others = len(self._before.attempts) - len(self._hit)
        text = f"{others - len(touched)} of {others} other running jobs untouched"
        self._drill.add(Step("others", text, None, failed=bool(touched)), now())

    def _evidence(self, tx: Connection) -> list[Evidence]:
        first = [one.job_id for one in self._hit]
        ids = list(dict.fromkeys([*first, *self._before.stages, *self._before.unfinished]))[
            :EVIDENCE_ROWS_MAX
        ]
        views, again = _views(tx, self._cluster, ids), self._began_again(tx, ids)
        return [self._evidence_of(tx, views[job_id], again[job_id]) for job_id in ids]

    def _evidence_of(self, tx: Connection, view: JobView, began_again: int) -> Evidence:
        job_id = view.source.job_id
        before = self._before.stages.get(job_id, {})
        after = {(run.node, run.step): run.output_hash for run in jobs.load_stages(tx, job_id)}
        changed = sum(after.get(stage) != output_hash for stage, output_hash in before.items())
        return Evidence(
            job_id=job_id,
            stages_before=tuple(node for node, _step in before),
            stages_after=tuple(node for node, _step in after),
            repeated=max(began_again, changed),
            state=view.state,
            attempt=view.source.attempt,
        )

    def _began_again(self, tx: Connection, ids: Sequence[str]) -> dict[str, int]:
        """How many stages began after the fault that were complete before it."""
        counts: dict[str, int] = defaultdict(int)
        for event in self._stage_starts(tx, ids):
            counts[event.job_id] += event.stage in self._before.stages.get(event.job_id, {})
        return counts

    def _stage_starts(self, tx: Connection, ids: Sequence[str]) -> "list[_StageStart]":
        found = []
        for event in events.stage_starts_after(tx, ids, self._before.position):
            stage = (orjson.loads(event.payload).get("metadata") or {}).get("stage")
            if stage is not None:
                found.append(_StageStart(event.job_id, (stage["node"], stage["step"])))
        return found


@dataclass(frozen=True, slots=True)
class _StageStart:
    job_id: str
    stage: StageKey


def _views(tx: Connection, cluster: EmbeddedCluster, ids: Sequence[str]) -> dict[str, JobView]:
    return {view.source.job_id: view for view in views(tx, rows.load(tx, ids), cluster.snapshot)}


def _is_settled(view: JobView) -> bool:
    return view.finished or view.source.held_reason is not None
