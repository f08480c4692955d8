"""A graph whose middle runs many times beside itself, with its witness: a kill there meets saves of every kind."""

import asyncio
from operator import add
from typing import Annotated, TypedDict

from jobdeck_backend.workflows.context import job_context
from jobdeck_backend.workflows.journal import journal_completion, write_journal
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

NAME = "fan_out"


class Asked(TypedDict):
    """How long each leaf takes, in seconds."""

    leaves: list[float]


class Fan(Asked):
    """And the numbers of those that ended."""

    ended: Annotated[list[int], add]


class Leaf(TypedDict):
    """What one leaf is given."""

    number: int
    seconds: float


def stages(leaves: int) -> list[str]:
    """The names under which its stages are on record."""
    return ["begin", *(f"leaf#{number}" for number in range(leaves)), "join"]


async def begin(_state: Fan) -> dict[str, list[int]]:
    """The stage before the leaves."""
    await _witnessed("begin", 0)
    return {"ended": []}


async def leaf(state: Leaf) -> dict[str, list[int]]:
    """One of many at once."""
    await _witnessed(f"leaf#{state['number']}", state["seconds"])
    return {"ended": [state["number"]]}


async def join(state: Fan) -> dict[str, list[int]]:
    """Needs them all."""
    assert sorted(state["ended"]) == list(range(len(state["leaves"])))
    await _witnessed("join", 0)
    return {"ended": []}


async def _witnessed(stage: str, seconds: float) -> None:
    context = job_context()
    write_journal(context, NAME, "stage_started", stage)
    worked = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, worked.set)
    await worked.wait()
    journal_completion(context, NAME, stage)


def _fan(state: Fan) -> list[Send]:
    return [
        Send("leaf", {"number": number, "seconds": seconds}) for number, seconds in enumerate(state["leaves"])
    ]


graph = StateGraph(Fan, input_schema=Asked)
graph.add_node("begin", begin)
graph.add_node("leaf", leaf)
graph.add_node("join", join)
graph.add_edge(START, "begin")
graph.add_conditional_edges("begin", _fan, ["leaf"])
graph.add_edge("leaf", "join")
graph.add_edge("join", END)
