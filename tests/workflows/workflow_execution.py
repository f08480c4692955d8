"""A real LangGraph run with a recorder that keeps a list: what these tests put in a worker's place."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from jobdeck_backend.errors import JobStopped
from jobdeck_backend.jobs.records import Effect, EffectState
from jobdeck_backend.settings import Settings
from jobdeck_backend.workflows.callbacks import EventCallback
from jobdeck_backend.workflows.context import JobContext, enter_job_context
from jobdeck_backend.workflows.registry import WorkflowResult, find
from langgraph.checkpoint.memory import InMemorySaver


class ListRecorder:
    """Keeps every call in order; ``stop_at`` names the stage at which the job is told to stop."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.stages: list[tuple[str, str, int, str | None]] = []
        self.stop_at = stop_at
        self.seen = Event()

    def record(self, type, *, id=None, name=None, data=None, metadata=None) -> None:  # noqa: A002
        self.events.append({"type": type, "id": id, "name": name, "data": data, "metadata": metadata})
        self.seen.set()

    def stage_started(self, node: str, step: int) -> None:
        if node == self.stop_at:
            raise JobStopped("stopped by the test")
        self.stages.append(("started", node, step, None))

    def stage_completed(self, node: str, step: int, output_hash: str, tasks) -> None:
        self.stages.append(("completed", node, step, output_hash))

    def when_saved(self, call) -> None:
        call()  # there is no saver here whose commit could be waited for

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    def artifacts(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.of("artifact.update") if event["data"]["type"] == kind]

    @property
    def completed(self) -> list[str]:
        return [node for what, node, _, _ in self.stages if what == "completed"]


class DictLedger:
    """Keeps effects in a dictionary, each called until it is settled."""

    def __init__(self) -> None:
        self.effects: dict[str, Effect] = {}

    def stage_started(self, node: str, step: int) -> None:
        """Nothing is counted here: each stage of these tests has one call of a name."""

    def intend(self, name, node, step, policy, request) -> Effect:
        key = f"job-1/{node}/{step}/{name}/0"
        wanted = Effect(
            key, "job-1", name, node, step, policy, EffectState.INTENT, json.dumps(request), 1, 1, 1.0
        )
        return self.effects.setdefault(key, wanted)

    def settle(self, key: str, state: EffectState, outcome: Any) -> None:
        self.effects[key] = replace(self.effects[key], state=state, outcome=json.dumps(outcome))


class DirectoryArtifacts:
    """A directory, and what was declared of its files; nothing is kept beyond it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.declared: dict[str, dict[str, Any]] = {}

    def add(self, path, **words) -> None:
        self.declared[Path(path).name] = words

    def keep_text(self, path: str, text: str, *, title: str) -> str:
        self.add(path, title=title)
        return path

    def checkpoint(self, *, everything: bool) -> None:
        """There is nobody to keep them for."""


class Execution:
    """One job's executions on one thread: run it, stop it, run it again."""

    def __init__(
        self,
        workflow: str,
        request: str,
        directory: Path,
        *,
        recorder: ListRecorder | None = None,
        predecessors: Mapping[str, Mapping[str, Any]] | None = None,
        saver: Any = None,
        **settings: Any,
    ) -> None:
        record = find(workflow)
        assert record is not None
        record.check_input(request)
        self.workflow, self.request = record, request
        self.recorder = recorder or ListRecorder()
        self.ledger = DictLedger()
        self.artifacts = DirectoryArtifacts(directory)
        self.saver = saver or InMemorySaver()
        self.context = JobContext(
            job_id="job-1",
            thread_id="thread-1",
            attempt=1,
            fence=1,
            request=request,
            cancelled=Event(),
            remaining=lambda: None,
            recorder=self.recorder,
            ledger=self.ledger,
            predecessors=predecessors or {},
            opted_artifacts=self.artifacts if record.artifacts else None,
            journal_dir=directory,
            settings=Settings(**{"offline_tokens_per_second": 1e6, "model_retry_s": 0, **settings}),
        )

    async def go(self) -> WorkflowResult:
        """What a worker does: start, or resume with None where a checkpoint exists."""
        enter_job_context(self.context)
        module = self.workflow.load()
        graph = module.builder(self.request).compile(checkpointer=self.saver)
        config = {
            "configurable": {"thread_id": self.context.thread_id},
            "callbacks": [EventCallback(self.context, self.workflow.name)],
        }
        before = await graph.aget_state(config)
        payload = None if before.created_at else module.initial_state(self.request)
        state = await graph.ainvoke(payload, config, durability="sync")
        return module.result(state)

    def run(self) -> WorkflowResult:
        return asyncio.run(self.go())
