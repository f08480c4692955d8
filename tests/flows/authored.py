"""An author's graph in a real worker: claim, ledger, checkpoints and ending as in production, without Dask."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery, effects, operators
from jobdeck_backend.commands.operators import By
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import Refused
from jobdeck_backend.jobs.artifacts import Artifact
from jobdeck_backend.jobs.records import Aside, Effect, EffectState, Job
from jobdeck_backend.recovery import fsck
from jobdeck_backend.scheduling.worker import WorkerProcess
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import artifacts, attempts, events, jobs
from jobdeck_backend.store import effects as ledger
from jobdeck_backend.store.artifact_files import ArtifactFiles
from jobdeck_backend.workflows import registry
from jobdeck_backend.workflows.registry import Workflow, WorkflowResult
from langgraph.graph import StateGraph

JOB = "job-1"
ASKED_BY = "operator"


@dataclass(frozen=True)
class _Module:
    graph: StateGraph
    first: dict[str, Any]

    def builder(self, _request: str) -> StateGraph:
        return self.graph

    def initial_state(self, _request: str) -> dict[str, Any]:
        return self.first

    def result(self, state: dict[str, Any]) -> WorkflowResult:
        return WorkflowResult(None, dict(state))


@dataclass(frozen=True)
class _Authored(Workflow):
    offered: _Module | None = None

    def load(self) -> Any:
        return self.offered


@dataclass
class AuthoredJob:
    """One job of one graph, run attempt by attempt; ``called`` is what its provider saw."""

    directory: Path
    monkeypatch: pytest.MonkeyPatch
    called: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = WorkerProcess(Settings(state_dir=self.directory, **self.settings))
        self.database = self.process.database

    def accept(self, graph: StateGraph, *, with_artifacts: bool = False, **state: Any) -> None:
        """Make the graph known and submit a job of it."""
        offered = _Module(graph, state)
        workflow = _Authored("authored", "", "", (), artifacts=with_artifacts, offered=offered)
        self.monkeypatch.setattr(registry, "find", lambda _name: workflow)
        with self.database.write() as tx:
            submit(tx, NewJob(agent_type="authored", input="x", queue="q", job_id=JOB), now())

    def attempt(self) -> Job:
        """Hand the job out and run it in a thread of its own, as a worker does; answers what became of it."""
        with self.database.write() as tx:
            delivery.deliver(tx, epoch=1, room=1, pending=(), urgent_room=0, now=now())
        fence = self.job().fence
        thread = threading.Thread(target=self.process.run, args=(JOB, fence, 1, "w0"))
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        return self.job()

    def job(self) -> Job:
        with self.database.read() as tx:
            job = jobs.load_job(tx, JOB)
        assert job is not None
        return job

    def act(self, perform: Callable[..., str]) -> str | Refused:
        with self.database.write() as tx:
            return operators.act(tx, perform.__name__, JOB, perform, By(ASKED_BY, now()))

    def resume(self) -> str | Refused:
        return self.act(operators.resume)

    def judge(self, key: str, verdict: EffectState, proof: str | None = None) -> str | Refused:
        return self.act(effects.verdict(key, verdict, proof))

    @property
    def files(self) -> ArtifactFiles:
        return ArtifactFiles(self.process.settings.artifact_root)

    def artifacts(self) -> list[Artifact]:
        with self.database.read() as tx:
            return artifacts.of_job(tx, JOB)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The data of the job's stored events of one type, in order."""
        with self.database.read() as tx:
            found = events.read_after(tx, JOB, 0, 10_000)
        return [json.loads(one.payload)["data"] for one in found if one.type == kind]

    def asides(self) -> dict[int, Aside]:
        """By attempt what it left beside the job's record."""
        with self.database.read() as tx:
            return attempts.load_aside(tx, JOB, 1_000)

    def effects(self) -> list[Effect]:
        with self.database.read() as tx:
            return ledger.of_job(tx, JOB)

    def finish(self) -> None:
        with self.database.read() as tx:
            found = fsck.check(tx, files=self.files)
        assert found == [], found
        self.database.close()
