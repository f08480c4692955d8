"""The probe: does exactly what its input says. For drills, tests and measurements.

One graph serves every input with the same stage names and kinds; what a stage does is read from the job's
request.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any, TypedDict
from urllib.parse import quote

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import END, START, StateGraph

from jobdeck_backend.errors import JobStopped
from jobdeck_backend.jobs.records import Policy
from jobdeck_backend.workflows.context import JobContext, job_context
from jobdeck_backend.workflows.effects import EffectHandle, effect
from jobdeck_backend.workflows.journal import journal_completion, read_journal, write_journal
from jobdeck_backend.workflows.offline import OfflineChatModel
from jobdeck_backend.workflows.probe_input import ProbeEffect, ProbeStage, parse_probe
from jobdeck_backend.workflows.registry import WorkflowResult

WORKFLOW = "probe"

# A dot keeps the key apart from every stage's name: LangGraph wants them distinct.
_COMPLETED = "probe.completed"
ProbeState = TypedDict("ProbeState", {"probe.completed": list[str], "probe.output": Any})


class ProbeFailure(Exception):  # noqa: N818
    """What a stage raises that was asked to fail."""


_parse = lru_cache(maxsize=4)(parse_probe)


def builder(request: str) -> StateGraph[ProbeState]:
    """The graph for this input; the same object for the same stage names and kinds."""
    return _build(tuple((stage.name, stage.sync or stage.ignore_cancel) for stage in _parse(request).stages))


def initial_state(request: str) -> Mapping[str, Any]:
    """Nothing done yet."""
    return {_COMPLETED: [], "probe.output": _parse(request).output}


def result(state: Mapping[str, Any]) -> WorkflowResult:
    """The asked-for output, and the names of the stages that ran."""
    output = state.get("probe.output")
    return WorkflowResult(
        report=output if isinstance(output, str) else None,
        data=output if output is not None else {"completed": list(state.get(_COMPLETED, []))},
    )


@lru_cache(maxsize=64)
def _build(shape: tuple[tuple[str, bool], ...]) -> StateGraph[ProbeState]:
    graph: StateGraph[ProbeState] = StateGraph(ProbeState)
    before = START
    for name, is_sync in shape:
        graph.add_node(name, partial(_run_sync if is_sync else _run_async, name))
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph


async def _run_async(name: str, state: ProbeState) -> dict[str, Any]:
    context, stage = _begin(name)
    if stage.block_loop:
        time.sleep(stage.seconds)  # noqa: ASYNC251  (the very fault this option is for)
    elif not stage.events and not stage.tokens:
        await asyncio.sleep(stage.seconds)
    for number in range(stage.events):
        await asyncio.sleep(_pause_s(stage))
        _log(context, stage, number)
    if stage.tokens:
        await _speaker(stage).ainvoke(_words(stage))
    if stage.effect is not None:
        with _effect(context, stage.effect) as handle:
            if handle.call:
                _call(context, stage, handle)
                if stage.effect.hang and handle.tries == 1:
                    await asyncio.Event().wait()
                handle.confirm({"answer": "done"})
    return _end(context, stage, state)


def _run_sync(name: str, state: ProbeState) -> dict[str, Any]:
    context, stage = _begin(name)
    if stage.ignore_cancel:
        time.sleep(stage.seconds)
    else:
        _be_busy(context, stage)
    if stage.effect is not None:
        with _effect(context, stage.effect) as handle:
            if handle.call:
                _call(context, stage, handle)
                if stage.effect.hang and handle.tries == 1:
                    _wait(context, None)
                handle.confirm({"answer": "done"})
    return _end(context, stage, state)


def _be_busy(context: JobContext, stage: ProbeStage) -> None:
    if not stage.events and not stage.tokens:
        _wait(context, stage.seconds)
    for number in range(stage.events):
        _wait(context, _pause_s(stage))
        _log(context, stage, number)
    if stage.tokens:
        _speaker(stage).invoke(_words(stage))


def _begin(name: str) -> tuple[JobContext, ProbeStage]:
    context = job_context()
    stage = next(stage for stage in _parse(context.request).stages if stage.name == name)
    write_journal(context, WORKFLOW, "stage_started", name)
    return context, stage


def _end(context: JobContext, stage: ProbeStage, state: ProbeState) -> dict[str, Any]:
    if stage.fail:
        raise ProbeFailure(f"stage {stage.name!r} was asked to fail")
    if stage.artifact_bytes:
        _leave_file(context, stage)
    journal_completion(context, WORKFLOW, stage.name)
    return {_COMPLETED: [*state["probe.completed"], stage.name]}


def _leave_file(context: JobContext, stage: ProbeStage) -> None:
    """A file whose bytes, cut anywhere, are text and say which stage of which job made it."""
    line = f"{stage.name} {quote(context.job_id)}\n".encode()
    path = context.artifacts.directory / f"{stage.name}.txt"
    path.write_bytes((line * (stage.artifact_bytes // len(line) + 1))[: stage.artifact_bytes])
    context.artifacts.add(path, title=f"What stage {stage.name} left")


def _effect(context: JobContext, wanted: ProbeEffect) -> AbstractContextManager[EffectHandle]:
    def was_called(key: str) -> bool:
        return any(line.get("key") == key for line in read_journal(context, WORKFLOW))

    probe = was_called if wanted.policy is Policy.PROBE else None
    return effect(wanted.key, request={"pay": wanted.key}, policy=wanted.policy, probe=probe)


def _call(context: JobContext, stage: ProbeStage, handle: EffectHandle) -> None:
    """The call itself: a synced line, written between the intent and its outcome."""
    write_journal(context, WORKFLOW, "effect_called", stage.name, key=handle.key)
    if stage.effect is not None and stage.effect.fail and handle.tries == 1:
        raise ProbeFailure(f"effect {stage.effect.key!r} was asked to fail")


def _wait(context: JobContext, seconds: float | None) -> None:
    if context.cancelled.wait(seconds):
        raise JobStopped("the job was cancelled while a stage waited")


def _log(context: JobContext, stage: ProbeStage, number: int) -> None:
    context.log(f"{stage.name}: event {number + 1} of {stage.events}")


def _pause_s(stage: ProbeStage) -> float:
    """The stage's seconds, shared out among what it says."""
    return stage.seconds / (stage.events + stage.tokens)


def _speaker(stage: ProbeStage) -> OfflineChatModel:
    pause_s = _pause_s(stage)
    return OfflineChatModel(tokens_per_second=1 / pause_s if pause_s else None, streaming=True)


def _words(stage: ProbeStage) -> list[BaseMessage]:
    return [HumanMessage(json.dumps({"task": "say_words", "words": stage.tokens}))]
