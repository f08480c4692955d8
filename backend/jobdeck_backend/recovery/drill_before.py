"""What was true just before a fault: what a drill holds the records against afterwards."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobdeck_backend.jobs.records import Attempt, Effect, EffectState, Policy
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.store import drills, effects, events, figures, jobs
from jobdeck_backend.store.engine import Database

StageKey = tuple[str, int]
DONE = frozenset({EffectState.CONFIRMED, EffectState.HAPPENED})


@dataclass(frozen=True)
class Before:
    """The records and the cluster just before the fault."""

    position: int
    """The log's end."""
    accepted: int
    """How many jobs were ever accepted."""
    epoch: int
    workers: frozenset[str]
    attempts: Sequence[Attempt]
    """Those in progress."""
    unfinished: Sequence[str]
    """In dispatch order."""
    stages: Mapping[str, Mapping[StageKey, str]]
    """``job → (node, step) → output hash`` of the completed stages of unfinished jobs."""
    intents: Mapping[str, int]
    """``effect key → calls so far`` of those effects of unfinished jobs that nothing may call again unasked."""

    def running_on(self, worker: str) -> int:
        """How many attempts a worker has in progress."""
        return sum(one.worker == worker for one in self.attempts)

    def as_json(self) -> dict[str, Any]:
        """For the record of a drill that its backend does not outlive."""
        return {
            **asdict(self),
            "workers": sorted(self.workers),
            "stages": {
                job_id: [[node, step, output_hash] for (node, step), output_hash in done.items()]
                for job_id, done in self.stages.items()
            },
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Before":
        """The other way round."""
        return cls(
            **{
                **kept,
                "workers": frozenset(kept["workers"]),
                "attempts": [Attempt(**one) for one in kept["attempts"]],
                "stages": {
                    job_id: {(node, step): output_hash for node, step, output_hash in done}
                    for job_id, done in kept["stages"].items()
                },
            }
        )


def look_before(database: Database, cluster: Cluster) -> Before:
    """Read what the drill will compare with."""
    stages: dict[str, dict[StageKey, str]] = defaultdict(dict)
    with database.read() as tx:
        for job_id, node, step, output_hash in drills.unfinished_stages(tx):
            stages[job_id][node, step] = output_hash
        return Before(
            position=events.last_position(tx),
            accepted=drills.accepted(tx),
            epoch=cluster.epoch,
            workers=frozenset(cluster.workers),
            attempts=jobs.live_attempts(tx),
            unfinished=[row.job_id for row in figures.line(tx)],
            stages=dict(stages),
            intents={one.key: one.intents for one in effects.of_unfinished(tx) if _is_once(one)},
        )


def _is_once(effect: Effect) -> bool:
    """Whether no recovery may call it again by itself (R25)."""
    return effect.state in DONE or (effect.state in effects.OPEN and effect.policy == Policy.MANUAL)
