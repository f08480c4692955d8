"""Random probe jobs: every kind of stage, deadlines, predecessors, effects of every policy."""

import random
import threading
from dataclasses import dataclass, field
from typing import Any

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "async": {},
    "sync": {"sync": True},
    "events": {"events": 5},
    "tokens": {"tokens": 20},
    "deaf": {"ignore_cancel": True},
    "blocking": {"block_loop": True},
    "failing": {"fail": True},
}
POLICIES = ("manual", "idempotent", "repeatable", "probe")


@dataclass
class Workload:
    """Makes submit bodies, the same for the same source of chance, and remembers each job's stages."""

    choice: random.Random
    stages: dict[str, list[str]] = field(default_factory=dict)
    accepted: dict[str, float] = field(default_factory=dict)
    """When each job was, in Unix seconds; others may wait for them."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
        """``(job_id, stages, other fields)`` of a job that was not there before. Safe from any thread."""
        with self._lock:
            return self._make()

    def _make(self) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
        job_id = f"storm-{len(self.stages)}"
        stages = [self._stage(f"s{number}") for number in range(self.choice.randint(0, 5))]
        body: dict[str, Any] = {"job_id": job_id, "priority": self.choice.randint(-2, 2)}
        if self.choice.random() < 0.2:
            body["deadline_seconds"] = self.choice.uniform(0.5, 15)
        if self.accepted and self.choice.random() < 0.2:
            body["after"] = self.choice.sample(list(self.accepted), min(2, len(self.accepted)))
            body["after_policy"] = self.choice.choice(["succeeded", "finished"])
        self.stages[job_id] = [stage["name"] for stage in stages]
        return job_id, stages, body

    def _stage(self, name: str) -> dict[str, Any]:
        chosen = self.choice.choices(list(KINDS), [4, 4, 2, 2, 2, 1, 1, 0.3])[0]
        stage = {"name": name, "seconds": self.choice.uniform(0, 0.8), **KINDS[chosen]}
        if self.choice.random() < 0.15:
            stage["effect"] = {"key": "pay", "policy": self.choice.choice(POLICIES)}
        return stage
