"""What every drill looks for: jobs taken back, jobs running again; and how it ends in a judgement."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.jobs.records import Attempt, Status
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.plural import plural
from jobdeck_backend.recovery import drill_judgement as judgement
from jobdeck_backend.recovery import fsck
from jobdeck_backend.recovery.drill_before import Before
from jobdeck_backend.recovery.drill_record import Drill, Step
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs
from jobdeck_backend.store.engine import Database

GIVE_UP_S = 30.0


@dataclass(frozen=True)
class Nothing:
    """What is looked for cannot be seen: there was nothing for the fault to prove it on. In words, why."""

    text: str


Look = Callable[[Connection], str | Nothing | None]
"""What was seen, in words, once it is seen."""


@dataclass(frozen=True)
class Expectation:
    """Something that must be seen within ``expected_s`` of the injection; None: at all.

    ``first``: what comes after it is read against a cluster that does not know of its loss before.
    """

    step: str
    expected_s: float | None
    look: Look
    first: bool = False


class Watch(ABC):
    """The expectations of one drill that were not seen yet. Each kind of fault has its own."""

    give_up_s = GIVE_UP_S

    def __init__(
        self, settings: Settings, database: Database, cluster: Cluster, drill: Drill, before: Before
    ) -> None:
        """Made just before the injection: what is true then is what must come back."""
        self._settings = settings
        self._database = database
        self._cluster = cluster
        self._drill = drill
        self._before = before
        self._healed = False
        self._all_ended = False
        self._hit = self._attempts_hit()
        self.open: list[Expectation] = []
        self._await(self._expectations())

    def _attempts_hit(self) -> Sequence[Attempt]:
        """The executions that the fault ends."""
        return self._before.attempts

    def _is_hit(self) -> bool:
        """Whether anything ran or read that the fault cut off: else the drill has shown nothing."""
        return bool(self._hit) and not self._all_ended

    @abstractmethod
    def _expectations(self) -> list[Expectation]:
        """What is to be seen after the fault, in order."""

    def _extra_judgement(self, tx: Connection) -> list[Step]:  # noqa: ARG002
        """What this fault in particular must not have done."""
        return []

    def look(self) -> bool:
        """Look for each open expectation once; whether any was seen."""
        seen = False
        with self._database.read() as tx:
            for one in list(self.open):
                found = one.look(tx)
                if found is not None:
                    judged = not isinstance(found, Nothing)
                    text = found.text if isinstance(found, Nothing) else found
                    self._drill.add(Step(one.step, text, one.expected_s, judged=judged), now())
                    self._await([other for other in self.open if other is not one])
                    seen = True
                elif one.first:
                    break
        return seen

    def heal(self) -> None:
        """The fault was ended by hand: what it would have led to is not to be expected any more."""
        self._healed = True
        self._await([Expectation("well again", None, self._well_again)])

    def _await(self, expectations: list[Expectation]) -> None:
        self.open = expectations
        self._drill.awaited = [(one.step, one.expected_s) for one in expectations]

    def judge(self) -> None:
        """End the drill: what was never seen has failed, the evidence is read, the verdict given."""
        for one in self.open:
            self._drill.add(Step(one.step, "not seen", one.expected_s, failed=True), now())
        self._await([])
        with self._database.read() as tx:
            self._drill.evidence = judgement.evidence(tx, self._cluster.snapshot, self._before, self._hit)
            steps = [
                *self._extra_judgement(tx),
                judgement.repeated_stages(self._drill.evidence),
                judgement.repeated_effects(tx, self._before),
            ]
        violations = fsck.check_instance(self._database, self._settings)
        text = (
            f"{len(fsck.CHECKED)} invariants checked on all records and files, {len(violations)} violations"
        )
        steps.append(Step("invariants", text, None, failed=bool(violations)))
        for step in steps:
            self._drill.add(step, now())
        self._drill.end(now(), healed=self._healed, hit=self._is_hit())

    # What is looked for.

    def _requeued(self, tx: Connection) -> str | Nothing | None:
        if not self._hit:
            return Nothing("no execution was cut off: nothing ran there")
        live = {(one.job_id, one.attempt) for one in jobs.live_attempts(tx)}
        if any((one.job_id, one.attempt) in live for one in self._hit):
            return None
        taken = judgement.taken_back(tx, self._hit)
        if not taken:
            self._all_ended = True
            return Nothing(
                f"{len(self._hit)} of {len(self._hit)} ended by themselves: none had to be taken back"
            )
        ended = f", {len(self._hit) - taken} had ended" if taken < len(self._hit) else ""
        return f"{taken} of {len(self._hit)} interrupted jobs taken back{ended}, none lost"

    def _epoch_up(self, _tx: Connection) -> str | None:
        if self._cluster.epoch <= self._before.epoch or self._cluster.state != "up":
            return None
        return f"epoch {self._cluster.epoch} is up with {plural(self._cluster.worker_count(), 'worker')}"

    def _running_again(self, tx: Connection) -> str | Nothing | None:
        if not self._hit:
            return Nothing("no job has to come back")
        live = jobs.live_attempts(tx)
        back = self._back(tx, live)
        if len(back) == len(self._hit):
            return f"{len(back)} of {len(self._hit)} interrupted jobs run again or are finished"
        snapshot = self._cluster.snapshot
        if self._is_mended() and snapshot is not None and len(live) >= snapshot.slots > 0:
            return f"all {snapshot.slots} slots are at work; {len(back)} of {len(self._hit)} interrupted jobs run"
        return None

    def _back(self, tx: Connection, live: Sequence[Attempt]) -> list[Attempt]:
        number = {one.job_id: one.attempt for one in live}
        views = judgement.views_of(tx, self._cluster.snapshot, [one.job_id for one in self._hit])
        return [
            one
            for one in self._hit
            if number.get(one.job_id, 0) > one.attempt or is_settled(views[one.job_id])
        ]

    def _is_mended(self) -> bool:
        """Whether processes and records are back: from then on the slots are filled again."""
        return {one.step for one in self.open} <= {"running again", "next stages"}

    def _next_stages(self, tx: Connection) -> str | Nothing | None:
        """Every interrupted job that runs again has gone on to a stage.

        Without it the judgement on repeated stages would come before any stage could repeat.
        """
        if any(one.step == "running again" for one in self.open):
            return None
        if not self._hit:
            return Nothing("no job has to go on")
        ids = [one.job_id for one in self._hit]
        began = {job_id for job_id, _stage in judgement.stage_starts(tx, ids, self._before.position)}
        views = judgement.views_of(tx, self._cluster.snapshot, ids)
        if any(views[one].source.status == Status.RUNNING and one not in began for one in ids):
            return None
        if not began:
            return Nothing("no interrupted job went on to a stage yet: none could run one again")
        return f"{plural(len(began), 'resumed job')} went on to the next stage"

    def _well_again(self, tx: Connection) -> str | None:
        if self._cluster.state != "up":
            return None
        live = jobs.live_attempts(tx)
        if not all(self._cluster.is_alive(one.worker) for one in live):
            return None
        views = judgement.views_of(tx, self._cluster.snapshot, [one.job_id for one in self._hit])
        running = {one.job_id for one in live}
        away = [one for one in self._hit if one.job_id not in running and not is_settled(views[one.job_id])]
        return (
            None if away else f"the cluster answers, every job it hit runs or is finished: {len(self._hit)}"
        )


def is_settled(view: JobView) -> bool:
    """Whether a job needs no worker any more, or waits for a person."""
    return view.finished or view.source.held_reason is not None
