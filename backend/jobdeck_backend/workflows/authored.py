"""Users' own graphs: loading one, and offering it to a worker as the built-in ones are offered."""

import asyncio
import hashlib
import inspect
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from pydantic import BaseModel

from jobdeck_backend.workflows.authored_input import state_of
from jobdeck_backend.workflows.registry import WorkflowResult
from jobdeck_backend.workflows.schemas import input_schema
from jobdeck_backend.workflows.sources import Source

Graph = StateGraph[Any, Any, Any, Any] | Pregel[Any, Any, Any, Any]
REPORT_FIELDS = ("report", "output", "answer", "result", "summary", "text")
"""Which text of the final state is the job's report, the first there is."""


async def build(source: Source) -> Graph:
    """Import the graph, or call its factory.

    Raises whatever the author's code does; ``LookupError`` or ``TypeError`` where there is no graph.
    """
    found = _find(source)
    if isinstance(found, StateGraph | Pregel):
        return found
    if not callable(found):
        raise TypeError(
            f"{source.target} is a {type(found).__name__}, and no graph or function that makes one"
        )
    needed = [one for one in inspect.signature(found).parameters.values() if one.default is one.empty]
    made = found(*({"configurable": {}} for _ in needed[:1]))
    if isinstance(made, AbstractAsyncContextManager | AbstractContextManager):
        raise TypeError(f"{source.target} makes a context manager, which is not supported; return the graph")
    if inspect.isawaitable(made):
        made = await made
    if not isinstance(made, StateGraph | Pregel):
        raise TypeError(f"{source.target} made a {type(made).__name__}, and no graph")
    return made


def _find(source: Source) -> Any:
    for path in source.paths:
        if path not in sys.path:
            sys.path.append(path)
    place, _, name = source.target.rpartition(":")
    module = _import_file(Path(source.paths[0], place)) if place.endswith(".py") else import_module(place)
    if not hasattr(module, name):
        raise LookupError(f"{place} has no {name}")
    return getattr(module, name)


@cache
def _import_file(path: Path) -> ModuleType:
    """One module a file, however many graphs are in it."""
    name = f"jobdeck_workflow_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise LookupError(f"there is no file {path}")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(graph: Graph) -> Pregel[Any, Any, Any, Any]:
    """A graph that can be asked about its schemas."""
    return graph.compile() if isinstance(graph, StateGraph) else graph


class _Rebound:
    """A graph that its author compiled, to be compiled with jobdeck's checkpointer as others are."""

    def __init__(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        self._graph = graph

    def compile(self, checkpointer: Any) -> Pregel[Any, Any, Any, Any]:
        return self._graph.copy({"checkpointer": checkpointer})


class AuthoredModule:
    """What a worker asks of a workflow, answered by a user's graph."""

    def __init__(self, source: Source) -> None:
        self._source = source
        # What an async factory makes may belong to the loop it was made on; each slot has its own.
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._described: Pregel[Any, Any, Any, Any] | None = None

    async def builder(self, _request: str) -> Any:
        """The graph, always the same on one loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            graph = await build(self._source)
            self._described = compiled(graph)
            self._made[loop] = graph if isinstance(graph, StateGraph) else _Rebound(graph)
        return self._made[loop]

    def initial_state(self, request: str) -> Mapping[str, Any]:
        """The input by the graph's schema."""
        assert self._described is not None
        return state_of(input_schema(self._described), request)

    def result(self, state: Mapping[str, Any]) -> WorkflowResult:
        """The graph's output, and of it the text that is to be read."""
        assert self._described is not None
        channels = self._described.output_channels
        names = [channels] if isinstance(channels, str) else channels
        output = {name: state[name] for name in names if name in state}
        return WorkflowResult(_report(output), {name: _shown(one) for name, one in output.items()})


def _report(output: Mapping[str, Any]) -> str | None:
    texts = [name for name, value in output.items() if isinstance(value, str)]
    for name in (*REPORT_FIELDS, *texts[:1]):
        if name in texts:
            return str(output[name])
    messages = output.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return str(last.text) if isinstance(last, BaseMessage) else None


def _shown(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return {"role": value.type, "content": value.text}
    if isinstance(value, BaseModel):
        return value.model_dump()
    return [_shown(one) for one in value] if isinstance(value, list | tuple) else value
