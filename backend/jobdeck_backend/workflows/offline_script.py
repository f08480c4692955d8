"""What the scripted model answers, by task. Pure text work: no model, no pace."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage


@dataclass(frozen=True)
class Reply:
    """Text to say, or tools to call first as (name, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


def answer(messages: Sequence[BaseMessage], tools: Sequence[str]) -> Reply:
    """The reply to this conversation, the same each time."""
    asked = next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    looked_up = any(isinstance(message, ToolMessage) for message in messages)
    try:
        facts = json.loads(asked)
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or facts.get("task") not in _TASKS:
        return Reply(text=f"I was asked: {asked[:200]}")
    return _TASKS[facts["task"]](facts, () if looked_up else tuple(tools))


def _say_words(facts: dict[str, Any], _tools: tuple[str, ...]) -> Reply:
    return Reply(text=" ".join(f"word-{number}" for number in range(1, int(facts["words"]) + 1)))


_TASKS: dict[str, Callable[[dict[str, Any], tuple[str, ...]], Reply]] = {
    "say_words": _say_words,
}
