"""What a workflow's author has beside the graph's state: the job context.

``job_context()`` answers inside any node, sync or async: LangGraph carries context variables into the threads
in which it runs sync nodes.
"""

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from jobdeck_backend.jobs.records import Effect, EffectState, Policy
from jobdeck_backend.settings import Settings


class Recorder(Protocol):
    """Where an execution's events go. Safe to call from any thread of the execution.

    Every method may raise ``JobStopped``: the attempt no longer owns its job (cancelled, expired, revoked)
    and must end.
    """

    def record(
        self,
        type: str,  # noqa: A002
        *,
        id: str | None = None,  # noqa: A002
        name: str | None = None,
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Append one event of the jobs API (``llm.chunk``, ``tool.end``, ``artifact.update``, …)."""

    def stage_started(self, node: str, step: int) -> None:
        """A graph node is about to run. Raises ``JobStopped`` when the job is cancelled or out of time."""

    def stage_completed(self, node: str, step: int, output_hash: str, tasks: Collection[str]) -> None:
        """A graph node ended; becomes evidence in the transaction that saves what one of these tasks wrote."""

    def when_saved(self, call: Callable[[], None]) -> None:
        """Call once the output of the stage that ends now is saved: from then on it is never run again."""


class Ledger(Protocol):
    """Where an execution's effects are put on record; authors use ``workflows.effects.effect``."""

    def intend(self, name: str, node: str, step: int, policy: Policy, request: Mapping[str, Any]) -> Effect:
        """Put the intent on record; its call may be made only if the answered state is INTENT."""

    def stage_started(self, node: str, step: int) -> None:
        """A graph node is about to run, perhaps not for the first time."""

    def answer(self, known: Effect, *, happened: bool) -> Effect:
        """Put on record what the provider answered about an uncertain effect."""

    def settle(self, key: str, state: EffectState, outcome: Any) -> None:
        """Put on record what the call came to."""


class Artifacts(Protocol):
    """Files an execution leaves behind (R31). Safe to use from any thread of it."""

    @property
    def directory(self) -> Path:
        """Where to write them. Empty at the beginning of each attempt; what earlier ones left is kept already."""

    def add(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        caption: str | None = None,
        kind: str | None = None,
        media_type: str | None = None,
        inline: bool = False,
    ) -> None:
        """Say of a file in the directory what it is; it is kept after the next tool's run, or at the stage's end.

        Files nobody declares are kept at the stage's end too. Raises ``ValueError`` for words that are too long,
        or a kind that does not exist.
        """

    def keep_text(self, path: str, text: str, *, title: str) -> str:
        """Write a text to a file in the directory and declare it; answers its path. Called by the callbacks."""

    def checkpoint(self, *, everything: bool) -> None:
        """Keep what was declared, or everything that is there. Called for the author by the callbacks."""


@dataclass(frozen=True)
class JobContext:
    """One execution of one job, as its workflow sees it."""

    job_id: str
    thread_id: str
    attempt: int
    fence: int
    request: str
    """The job's input text."""
    cancelled: Event
    """Set when the job was cancelled or lost its claim: wait on it or check it."""
    remaining: Callable[[], float | None]
    """Seconds of budget left, None without a deadline."""
    recorder: Recorder
    ledger: Ledger
    predecessors: Mapping[str, Mapping[str, Any]]
    """Job id → output (``{"report": str | None, "data": …}``) of each job named in ``after``."""
    journal_dir: Path
    settings: Settings
    opted_artifacts: Artifacts | None = None
    """``artifacts``, where the workflow declared that it leaves files behind."""

    @property
    def artifacts(self) -> Artifacts:
        """Where files go that outlive the job. Raises ``LookupError`` when the workflow did not opt in."""
        if self.opted_artifacts is None:
            raise LookupError(
                'this workflow does not say that it leaves files behind ("artifacts": true in langgraph.json), so '
                "none are kept"
            )
        return self.opted_artifacts

    def log(self, text: str) -> None:
        """Tell the operator what is going on: a ``job.update`` named ``log``, and the row's note."""
        self.recorder.record("job.update", name="log", data={"output": text})


_current: ContextVar[JobContext] = ContextVar("jobdeck_job_context")


def job_context() -> JobContext:
    """The context of the job this code runs for. Raises ``LookupError`` outside of one."""
    return _current.get()


def enter_job_context(context: JobContext) -> None:
    """Make ``context`` current for this thread or task and all that it starts."""
    _current.set(context)
