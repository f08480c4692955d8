"""Where one execution's events and stages are gathered, and written with its fence.

Events wait up to ``BATCH_S`` for company. What a stage says last is thus written in the transaction that saves
its checkpoint: a kill before that repeats the stage, a kill after it repeats neither. Used from the slot's
event loop, from threads of sync nodes and by nobody else.
"""

import os
from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution, notices
from jobdeck_backend.errors import BudgetSpent, JobStopped
from jobdeck_backend.jobs.records import Claim, NewEvent, StageRun
from jobdeck_backend.scheduling.slot import Slot
from jobdeck_backend.store.trouble import cause_of, may_pass
from jobdeck_backend.workflows.plain import plain

log = structlog.get_logger(__name__)

BATCH_S = 0.05
LATE_S = 0.5
BATCH_EVENTS_MAX = 200
NOTE_CHARS_MAX = 200
TOLD_BY_EXECUTIONS = (
    *("workflow.start", "workflow.end", "llm.start", "llm.chunk", "llm.end", "tool.start", "tool.end"),
    *("artifact.update", "artifact.warning", "job.update"),
)
"""The types of the jobs API's events that are not the server's own: those would mislead a stream's readers."""


class ExecutionRecorder:
    """The ``Recorder`` of one claim."""

    def __init__(self, slot: Slot, claim: Claim, remaining: Callable[[], float | None]) -> None:
        self._slot = slot
        self._loop: AbstractEventLoop = slot.loop
        self._claim = claim
        self._remaining = remaining
        self._waiting: list[NewEvent] = []
        self._progress: dict[str, Any] = {}
        self._stage_starts: dict[tuple[str, int], float] = {}
        self._stage_runs: list[tuple[StageRun, frozenset[str]]] = []
        self._saving: list[tuple[StageRun, frozenset[str]]] = []
        self._stages_done = slot.stages_done(claim.job_id) if claim.attempt > 1 else 0
        self._when_saved: list[Callable[[], None]] = []
        self._flush_due = False
        self._late = False
        self.stopped = False
        """Set by the heart when the job was taken away; the next write says so too."""

    def record(
        self,
        type: str,  # noqa: A002
        *,
        id: str | None = None,  # noqa: A002
        name: str | None = None,
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Append one event; what of it is not JSON becomes its text, so that nothing here stops the store.

        Raises ``JobStopped`` when the job is no longer this execution's, ``ValueError`` for a type that is not
        an execution's to tell.
        """
        self.refuse_if_stopped()
        if type not in TOLD_BY_EXECUTIONS:
            raise ValueError(f"an execution tells of no {type!r}; it may of {', '.join(TOLD_BY_EXECUTIONS)}")
        told: dict[str, Any] = plain({"id": id, "name": name, "data": data, "metadata": metadata})
        with self._slot.lock:
            self._waiting.append(notices.envelope(type, now(), **told))
            if type == "job.update" and isinstance(told["data"], dict):
                self._progress["note"] = str(told["data"].get("output", ""))[:NOTE_CHARS_MAX]
            self._write_soon()

    def refuse_if_stopped(self) -> None:
        """Raises ``JobStopped`` when the heart said that the job was taken away."""
        if self.stopped:
            raise JobStopped(execution.STOPPED)

    def stage_started(self, node: str, step: int) -> None:
        """Refuse to start a stage past the deadline (R8) or after a cancel."""
        self.refuse_if_stopped()
        remaining = self._remaining()
        if remaining is not None and remaining <= 0:
            raise BudgetSpent("the deadline passed before the stage could start")
        with self._slot.lock:
            self._stage_starts[node, step] = now()
            self._progress["stage"] = node

    def stage_completed(self, node: str, step: int, output_hash: str, tasks: Collection[str]) -> None:
        """Keep the evidence until the output of one of LangGraph's tasks is saved."""
        with self._slot.lock:
            ended = now()
            run = StageRun(
                job_id=self._claim.job_id,
                node=node,
                step=step,
                attempt=self._claim.attempt,
                pid=os.getpid(),
                started_at=self._stage_starts.pop((node, step), ended),
                completed_at=ended,
                checkpoint_id="",
                output_hash=output_hash,
            )
            self._stage_runs.append((run, frozenset(tasks)))

    def when_saved(self, call: Callable[[], None]) -> None:
        """Call once the next checkpoint, with the output of the stage that ends now, is committed."""
        with self._slot.lock:
            self._when_saved.append(call)

    def after_save(self) -> None:
        """A save is committed: what waited for it may be told."""
        self._written()
        self._stages_done += len(self._saving)
        self._stage_runs = [one for one in self._stage_runs if one not in self._saving]
        self._saving = []
        calls, self._when_saved = self._when_saved, []
        for call in calls:
            call()

    def before_save(self, tx: Connection, checkpoint_id: str, task_ids: Collection[str]) -> None:
        """Inside the saver's transaction: the fence, what is waiting, and the evidence of ended stages.

        ``task_ids`` are the tasks whose output is being saved. A branch that ended beside them waits for its own
        save: evidence without output would be a lie after a kill.
        """
        self._saving = [(run, tasks) for run, tasks in self._stage_runs if not tasks.isdisjoint(task_ids)]
        ended = [run for run, _tasks in self._saving]
        # First the job's fence, then what hangs on it.
        if ended:
            self._progress["stages_done"] = self._stages_done + len(ended)
        self._write(tx)
        execution.save_stages(tx, [replace(run, checkpoint_id=checkpoint_id) for run in ended])

    def _write(self, tx: Connection) -> None:
        """Write what is waiting, or only check the fence. Raises ``JobStopped``.

        Until it is committed it stays for the next try.
        """
        if self._waiting or self._progress:
            execution.record(tx, self._claim, self._waiting, now(), **self._progress)
        else:
            execution.check(tx, self._claim)

    def _written(self) -> None:
        self._waiting, self._progress = [], {}

    def flush(self) -> None:
        """Write what is waiting in a transaction of its own."""
        with self._slot.lock:
            self._flush_due = False
            if self._waiting or self._progress:
                self._slot.transact(self._write)
                self._written()
                self._late = False

    def take_waiting(self) -> list[NewEvent]:
        """Hand over what is waiting, for the transaction that ends the job."""
        with self._slot.lock:
            waiting, self._waiting = self._waiting, []
            return waiting

    def _write_soon(self) -> None:
        if len(self._waiting) >= BATCH_EVENTS_MAX and not self._late:
            try:
                self.flush()
            except DBAPIError as error:
                self._wait_for_database(error)
        elif not self._flush_due:
            self._loop.call_soon_threadsafe(self._flush_later)

    def _flush_later(self) -> None:
        self._flush_due = True
        self._loop.call_later(LATE_S if self._late else BATCH_S, self._flush_late)

    def _flush_late(self) -> None:
        try:
            if self._flush_due:
                self.flush()
        except JobStopped:
            self.stopped = True
        except DBAPIError as error:
            self._wait_for_database(error)

    def _wait_for_database(self, error: DBAPIError) -> None:
        """The work goes on without; what it says is written once the database takes it."""
        if not may_pass(error):
            raise error
        if not self._late:
            log.warning("events not written; tried again", job_id=self._claim.job_id, error=cause_of(error))
        self._late = True
        self._loop.call_soon_threadsafe(self._flush_later)
