"""Which run of which graph node this is: the same in every attempt, and no other run's."""

from collections.abc import Mapping, Sequence
from typing import Any

_TASK_ID_SHOWN = 8


def place(metadata: Mapping[str, Any] | None) -> tuple[str, int] | None:
    """``(node, step)`` of the node that LangGraph's metadata tell of, None outside of one.

    LangGraph counts a subgraph's steps for themselves, and gives each ``Send`` to one node the same step: the
    task around (``outer:3f2a91c0/node``) and the number of the run (``node#2``) keep those apart.
    """
    if not metadata or "langgraph_node" not in metadata:
        return None
    node = str(metadata["langgraph_node"])
    path: Sequence[Any] = metadata.get("langgraph_path") or ()
    if len(path) > 1 and isinstance(path[1], int):
        node = f"{node}#{path[1]}"
    around = str(metadata.get("langgraph_checkpoint_ns", "")).split("|")[:-1]
    for part in reversed(around):
        name, _, task_id = part.rpartition(":")
        node = f"{name}:{task_id[:_TASK_ID_SHOWN]}/{node}"
    return node, int(metadata["langgraph_step"])


def tasks_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids under which LangGraph saves what that node writes, last, and what those around it do."""
    names = str(metadata.get("langgraph_checkpoint_ns", "")).split("|")
    return tuple(name.rpartition(":")[2] for name in names)
