"""What the scripted model answers, by task. Pure text work: no model, no pace."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from jobdeck_backend.plural import plural

_CLAUSES_READ = 2


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


def _review_note(facts: dict[str, Any], _tools: tuple[str, ...]) -> Reply:
    if facts["licence"] == "unknown":
        mentions = ", ".join(facts["mentions"])
        return Reply(
            text="The document is none of the known licences"
            + (f"; it only refers to {mentions}." if mentions else " and refers to none of them.")
            + " A person should read it."
        )
    names = " and ".join(facts["names"])
    sure = "All of its phrases are there" if facts["confidence"] == 1 else "Most of its phrases are there"
    changed = "but the wording was changed" if facts["modified"] else "and the wording is the usual one"
    return Reply(text=f"The document reads as {names}. {sure}, {changed}. Its kind is {facts['category']}.")


def _review_summary(facts: dict[str, Any], tools: tuple[str, ...]) -> Reply:
    """Looks at up to two clauses with conditions first, where it may."""
    conditions = [item for item in facts["obligations"] if item["group"] == "condition"]
    clauses = list(dict.fromkeys(item["clause"] for item in conditions))[:_CLAUSES_READ]
    if "read_clause" in tools and clauses:
        return Reply(calls=tuple(("read_clause", {"number": number}) for number in clauses))
    permissions = [item["text"] for item in facts["obligations"] if item["group"] == "permission"]
    limits = [item["text"] for item in facts["obligations"] if item["group"] == "limitation"]
    said = [f"{facts['title']}: {facts['licence']}, {facts['category']}."]
    if permissions:
        said.append(f"It allows to {_listed(permissions)}.")
    if conditions:
        said.append("In return it asks: " + "; ".join(map(_with_place, conditions)) + ".")
    elif permissions:
        said.append("It asks nothing in return.")
    if limits:
        said.append(f"It also says: {'; '.join(limits)}.")
    if facts["modified"]:
        places = plural(len(facts["departures"]), "place")
        said.append(f"The usual wording was changed in {places} or more: read them first.")
    if facts["category"] == "strong copyleft":
        said.append("Take care before combining it with work under other terms.")
    return Reply(text=" ".join(said))


def _portfolio_summary(facts: dict[str, Any], _tools: tuple[str, ...]) -> Reply:
    kinds = ", ".join(f"{count} {kind}" for kind, count in facts["kinds"].items())
    said = [f"{plural(facts['documents'], 'document')} reviewed: {kinds}."]
    if facts["licences"]:
        said.append(f"The most frequent licences are {', '.join(facts['licences'][:3])}.")
    if facts["conflicts"]:
        said.append(f"Terms that do not go together were found {plural(facts['conflicts'], 'time')}.")
    said.append(
        f"A person's eye is needed by {plural(facts['attention'], 'document')}."
        if facts["attention"]
        else "No document stands out."
    )
    return Reply(text=" ".join(said))


def _rewrite_report(facts: dict[str, Any], _tools: tuple[str, ...]) -> Reply:
    """A script cannot follow an instruction: it keeps the report and says what was asked."""
    return Reply(text=f"> Edit asked for: {facts['instruction']}\n\n{facts['report']}")


def _listed(texts: list[str]) -> str:
    lowered = [text[0].lower() + text[1:] for text in texts]
    return lowered[0] if len(lowered) == 1 else f"{', '.join(lowered[:-1])} and {lowered[-1]}"


def _with_place(item: dict[str, Any]) -> str:
    return f"{item['text'][0].lower()}{item['text'][1:]} ({item['clause_name']}, line {item['line']})"


_TASKS: dict[str, Callable[[dict[str, Any], tuple[str, ...]], Reply]] = {
    "say_words": _say_words,
    "review_note": _review_note,
    "review_summary": _review_summary,
    "portfolio_summary": _portfolio_summary,
    "rewrite_report": _rewrite_report,
}
