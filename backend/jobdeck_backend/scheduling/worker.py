"""What a worker does with a delivered job: claim, run its graph within the budget, say how it ended.

Running and storing are apart: ``_work`` ends in one of a few values, ``_conclude`` writes what it means.
"""

import asyncio
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from inspect import isawaitable
from typing import Any

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from sqlalchemy import Connection

from jobdeck_backend import logs
from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution
from jobdeck_backend.errors import BudgetSpent, EffectUncertain, JobStopped
from jobdeck_backend.faults import FaultPoint, reached
from jobdeck_backend.jobs.records import Claim, NewEvent
from jobdeck_backend.logs import without_secrets
from jobdeck_backend.scheduling.capture import ExecutionArtifacts
from jobdeck_backend.scheduling.heart import Heart
from jobdeck_backend.scheduling.ledger import ExecutionLedger
from jobdeck_backend.scheduling.patience import patiently
from jobdeck_backend.scheduling.recorder import ExecutionRecorder
from jobdeck_backend.scheduling.slot import Slot
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import timekeeping
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.timekeeping import KEPT_WITHIN_S, Follower
from jobdeck_backend.workflows import registry
from jobdeck_backend.workflows.callbacks import EventCallback
from jobdeck_backend.workflows.context import JobContext, enter_job_context
from jobdeck_backend.workflows.plain import plain, storable, words
from jobdeck_backend.workflows.registry import Workflow
from jobdeck_backend.workflows.sources import read_sources

log = structlog.get_logger(__name__)

# Super-steps of one graph; LangGraph's own default is 10,007.
RECURSION_LIMIT = 1_000
ERROR_CHARS_MAX = 2_000
TRACEBACK_CHARS_MAX = 16_000
TIME_LOOK_S = 0.05


@dataclass(frozen=True)
class Succeeded:
    """The graph ended; ``output`` is what its final state amounts to."""

    output: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """The graph raised."""

    error: str
    error_type: str
    traceback: str


@dataclass(frozen=True)
class Expired:
    """The budget was used up."""


@dataclass(frozen=True)
class Stopped:
    """The job was taken away: cancelled, expired by somebody else, or given to another attempt."""


@dataclass(frozen=True)
class Held:
    """Only a person can tell how to go on."""

    reason: str


Ending = Succeeded | Failed | Expired | Stopped | Held


@cache
def worker_process() -> "WorkerProcess":
    """What this process keeps, made at its first job."""
    return WorkerProcess(Settings())


class WorkerProcess:
    """One worker process's settings, database and heart."""

    def __init__(self, settings: Settings) -> None:
        logs.configure_ours()
        self.settings = settings
        self.database = Database(settings.database_place, synchronous="NORMAL")
        sources, _broken = read_sources(settings)
        registry.install(
            [Workflow(one.name, "", "", (), artifacts=one.artifacts, source=one) for one in sources]
        )
        self._follower = Follower()
        self._learn_the_time()
        self.heart = Heart(settings, self.database, self._follower)

    def _learn_the_time(self) -> None:
        """On another machine than the backend's, wait until the clock row was kept: no job may start before."""
        until = time.monotonic() + KEPT_WITHIN_S
        while time.monotonic() < until:
            with self.database.read() as tx:
                if self._follower.follow(tx):
                    return
            time.sleep(TIME_LOOK_S)

    def database_id(self) -> str | None:
        """Which database this process uses."""
        with self.database.read() as tx:
            row = timekeeping.load(tx)
        return None if row is None else row.database_id

    def run(self, job_id: str, fence: int, epoch: int, worker: str) -> None:
        """Claim and execute one delivered job in this thread; leaves at once when nothing is to be claimed."""
        slot = Slot.current(self.settings, self.database)

        def claim_it() -> Claim | None:
            return slot.transact(
                lambda tx: execution.claim(
                    tx, job_id, fence, worker=worker, pid=os.getpid(), epoch=epoch, now=now()
                )
            )

        claim = slot.loop.run_until_complete(patiently(claim_it, job_id))
        if claim is not None:
            reached(FaultPoint.CLAIMED, job_id)
            Execution(slot, claim).run(self.heart)


class Execution:
    """One claim being worked on."""

    def __init__(self, slot: Slot, claim: Claim) -> None:
        self.claim = claim
        self._slot = slot
        self._deadline = claim.admission.deadline
        self._cancelled = threading.Event()
        self._recorder = ExecutionRecorder(slot, claim, self._remaining)
        self._ledger = ExecutionLedger(slot, claim, self._recorder, self._remaining)
        self._artifacts = ExecutionArtifacts(slot, claim, self._recorder)
        self._timeout: asyncio.Timeout | None = None
        self._task: asyncio.Task[Ending] | None = None

    def run(self, heart: Heart) -> None:
        """Work until the job is over and its threads have ended."""
        heart.watch(self)
        try:
            self._task = self._slot.loop.create_task(self._work())
            try:
                ending = self._slot.loop.run_until_complete(self._task)
            except asyncio.CancelledError:
                ending = Stopped()
            except BaseException as exit_:
                # Its author's code asked for the end of the process, where others' jobs run: it is this job's.
                # So is all else that is no ``Exception``: left to Dask, it would count as the loss of its worker.
                ending = self._failed(exit_)
                self._abandon(self._task)
            self._conclude(ending)
        finally:
            heart.forget(self)
            self._artifacts.remove()

    # The heart's side: called from its thread.

    def stop(self) -> None:
        """End the work: sync nodes see ``cancelled``, async ones are cancelled."""
        self._recorder.stopped = True
        self._cancelled.set()
        if self._task is not None:
            self._slot.loop.call_soon_threadsafe(self._task.cancel)

    def rebudget(self, deadline: float | None) -> None:
        """Live by a granted deadline from now on."""
        self._deadline = deadline
        self._slot.loop.call_soon_threadsafe(self._reschedule)

    # The work.

    def _remaining(self) -> float | None:
        return None if self._deadline is None else self._deadline - now()

    def _reschedule(self) -> None:
        remaining = self._remaining()
        if self._timeout is not None:
            self._timeout.reschedule(None if remaining is None else self._slot.loop.time() + remaining)

    async def _work(self) -> Ending:
        try:
            async with asyncio.timeout(self._remaining()) as self._timeout:
                return Succeeded(await self._run_graph())
        except BudgetSpent:
            return Expired()
        except EffectUncertain as unknown:
            return Held(unknown.message)
        except (JobStopped, asyncio.CancelledError):
            return Stopped()
        except Exception as error:
            if self._timeout is not None and self._timeout.expired():
                return Expired()
            return self._failed(error)

    def _failed(self, error: BaseException) -> Failed:
        log.error("job failed", job_id=self.claim.job_id, exc_info=error)
        kind = storable(type(error).__name__)
        text = without_secrets(f"{kind}: {words(error)}")[:ERROR_CHARS_MAX]
        return Failed(storable(text), kind, _traceback_of(error))

    def _abandon(self, task: asyncio.Task[Ending]) -> None:
        """End what is left of a work whose loop was left in the middle."""
        task.cancel()
        with suppress(BaseException):
            self._slot.loop.run_until_complete(task)

    async def _run_graph(self) -> Mapping[str, Any]:
        admission = self.claim.admission
        self._slot.saver.bind(
            self._recorder.before_save,
            self._recorder.after_save,
            lambda save: patiently(save, admission.job_id),
        )
        workflow = registry.find(admission.agent_type)
        if workflow is None:
            raise LookupError(
                f"this worker has no workflow named {admission.agent_type}: see its JOBDECK_WORKFLOWS"
            )
        module = workflow.load()
        context = self._context(workflow)
        enter_job_context(context)
        builder = module.builder(admission.input)
        graph = self._slot.compiled(await builder if isawaitable(builder) else builder)
        config: RunnableConfig = {
            "configurable": {"thread_id": admission.thread_id},
            "callbacks": [EventCallback(context, admission.agent_type)],
            "metadata": {"job_id": admission.job_id, "attempt": self.claim.attempt},
            "recursion_limit": RECURSION_LIMIT,
        }
        # Once a checkpoint of this job exists its original input is never passed again (R20).
        begun = self.claim.attempt > 1 and self._has_own_checkpoint(config)
        first = None if begun else module.initial_state(admission.input)
        await _invoke(graph, first, config)
        state = await graph.aget_state(config)
        if state.next:
            places = ", ".join(state.next)
            raise RuntimeError(
                f"the graph stopped before its end, at {places}: nobody here answers interrupts; a question to a "
                "person belongs before the job, or between two"
            )
        self._artifacts.finish()
        result = module.result(state.values)  # from the state read back, not from memory (R22)
        return {"report": plain(result.report), "data": plain(result.data)}

    def _has_own_checkpoint(self, config: RunnableConfig) -> bool:
        saved = self._slot.saver.get_tuple(config)
        return saved is not None and saved.metadata.get("job_id") == self.claim.job_id

    def _context(self, workflow: registry.Workflow) -> JobContext:
        return JobContext(
            job_id=self.claim.job_id,
            thread_id=self.claim.admission.thread_id,
            attempt=self.claim.attempt,
            fence=self.claim.fence,
            request=self.claim.admission.input,
            cancelled=self._cancelled,
            remaining=self._remaining,
            recorder=self._recorder,
            ledger=self._ledger,
            predecessors=self.claim.predecessors,
            opted_artifacts=self._artifacts if workflow.artifacts else None,
            journal_dir=self._slot.settings.state_dir,
            settings=self._slot.settings,
        )

    # The end.

    def _conclude(self, ending: Ending) -> None:
        """Store what the work came to. An expiry is told at once, a cancel once the threads have ended."""
        if not isinstance(ending, Succeeded):
            self._cancelled.set()
        reached(FaultPoint.GRAPH_FINISHED, self.claim.job_id)
        told = self._recorder.take_waiting()
        if isinstance(ending, Expired):
            self._record(lambda tx: execution.expire_running(tx, self.claim, told, now()))
        if not isinstance(ending, Succeeded):
            self._slot.wait_for_threads()
        if isinstance(ending, Failed):
            # What a failed job made may tell why; one that was taken away keeps what earlier looks kept.
            with suppress(JobStopped):
                self._artifacts.finish()
        self._record(lambda tx: self._record_end(tx, ending, told))
        reached(FaultPoint.CONCLUDED, self.claim.job_id)

    def _record_end(self, tx: Connection, ending: Ending, told: list[NewEvent]) -> None:
        match ending:
            case Succeeded(output):
                execution.succeed(tx, self.claim, output, told, now())
            case Failed(error, error_type, where):
                execution.fail(tx, self.claim, error, error_type, told, now(), traceback=where)
            case Expired():
                execution.end(tx, self.claim, "expired", now())
            case Held(reason):
                execution.hold(tx, self.claim, reason, told, now())
            case Stopped():
                execution.stop(tx, self.claim, now())

    def _record(self, write: Callable[[Connection], object]) -> None:
        """One transaction, made again until the database takes it: what was done must not be done again."""
        once = partial(self._slot.transact, write)
        self._slot.loop.run_until_complete(patiently(once, self.claim.job_id))


async def _invoke(
    graph: CompiledStateGraph[Any, Any, Any, Any], first: Mapping[str, Any] | None, config: RunnableConfig
) -> None:
    try:
        await graph.ainvoke(first, config, durability="sync")
    except AttributeError as error:
        if error.name != "_put_checkpoint_fut":
            raise
        # LangGraph's own: it waits for a save that such a graph has none of.
        raise TypeError(
            "a graph compiled with checkpointer=False cannot run inside one whose stages are saved; "
            "compile it without"
        ) from error


def _traceback_of(error: BaseException) -> str:
    """Where it failed: lines of code without anybody's values; of a long one the end, which says most."""
    text = storable(without_secrets("".join(traceback.format_exception(error)).rstrip()))
    return text if len(text) <= TRACEBACK_CHARS_MAX else "… (cut)\n" + text[-TRACEBACK_CHARS_MAX:]
