"""Random jobs: every kind of stage, stages beside each other, deadlines, predecessors, effects of every policy."""

import json
import random
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.storm import fan_out

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
FANNED_SHARE, LEAVES_MAX = 0.15, 12


@dataclass
class Workload:
    """Makes requests, the same for the same source of chance, and remembers each job's workflow and stages."""

    choice: random.Random
    workflows: dict[str, str] = field(default_factory=dict)
    stages: dict[str, list[str]] = field(default_factory=dict)
    accepted: dict[str, float] = field(default_factory=dict)
    """When each job was, in Unix seconds; others may wait for them."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> dict[str, Any]:
        """The request for a job that was not there before. Safe from any thread."""
        with self._lock:
            return self._make()

    def _make(self) -> dict[str, Any]:
        job_id = f"storm-{len(self.stages)}"
        fanned = self.choice.random() < FANNED_SHARE
        workflow, asked, names = self._fan() if fanned else self._line()
        body = {"job_id": job_id, "agent_type": workflow, "priority": self.choice.randint(-2, 2)}
        body["input"] = json.dumps(asked)
        if self.choice.random() < 0.2:
            body["deadline_seconds"] = self.choice.uniform(0.5, 15)
        if self.accepted and self.choice.random() < 0.2:
            body["after"] = self.choice.sample(list(self.accepted), min(2, len(self.accepted)))
            body["after_policy"] = self.choice.choice(["succeeded", "finished"])
        self.workflows[job_id], self.stages[job_id] = workflow, names
        return body

    def _line(self) -> tuple[str, dict[str, Any], list[str]]:
        names = [f"s{number}" for number in range(self.choice.randint(0, 5))]
        return "probe", {"stages": [self._stage(name) for name in names]}, names

    def _fan(self) -> tuple[str, dict[str, Any], list[str]]:
        leaves = [self.choice.uniform(0, 1.5) for _ in range(self.choice.randint(2, LEAVES_MAX))]
        return fan_out.NAME, {"leaves": leaves}, fan_out.stages(len(leaves))

    def _stage(self, name: str) -> dict[str, Any]:
        chosen = self.choice.choices(list(KINDS), [4, 4, 2, 2, 2, 1, 1, 0.3])[0]
        stage = {"name": name, "seconds": self.choice.uniform(0, 0.8), **KINDS[chosen]}
        if self.choice.random() < 0.15:
            stage["effect"] = {"key": "pay", "policy": self.choice.choice(POLICIES)}
        return stage
