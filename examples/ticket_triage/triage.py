"""A workflow of one's own: a tool, a model, the time that is left, an effect that is done once, and a file."""

import json
import os
from pathlib import Path
from typing import TypedDict

from jobdeck_backend.jobs.records import Policy
from jobdeck_backend.workflows.context import job_context
from jobdeck_backend.workflows.effects import effect
from jobdeck_backend.workflows.model import ask, chat_model, text_of
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph

OUTBOX = Path(os.environ.get("TRIAGE_OUTBOX", "outbox.jsonl"))
MODEL_NEEDS_S = 5.0


class Ticket(TypedDict):
    """What is submitted: plain text, or a JSON object with these fields."""

    text: str


class Triage(Ticket, total=False):
    """What the stages know."""

    urgency: str
    answer: str
    sent_as: str


class Answered(TypedDict):
    """What the job comes to; ``answer`` is its report."""

    urgency: str
    answer: str
    sent_as: str


@tool
def urgency_of(text: str) -> str:
    """How urgent a ticket is, by the words in it."""
    words = {word.strip(".,!?").lower() for word in text.split()}
    return "urgent" if words & {"down", "outage", "breach", "urgent"} else "normal"


def classify(state: Triage) -> dict[str, str]:
    """A sync node; tools called in it are seen in the job's events."""
    return {"urgency": urgency_of.invoke({"text": state["text"]})}


async def draft(state: Triage) -> dict[str, str]:
    """An async node: asks the configured model if there is time, else answers without."""
    context = job_context()
    left = context.remaining()
    if left is not None and left < MODEL_NEEDS_S:
        context.log(f"only {left:.1f} s left: a standard answer")
        return {"answer": "We have received your ticket and are looking into it."}
    messages = [
        SystemMessage(f"Answer this support ticket in two sentences. It is {state['urgency']}."),
        HumanMessage(state["text"]),
    ]
    return {"answer": text_of(await ask(chat_model(context.settings), messages, context))}


def send(state: Triage) -> dict[str, str]:
    """Puts the answer in the outbox at most once, whatever becomes of workers meanwhile."""
    request = {"answer": state["answer"]}
    with effect("send", request=request, policy=Policy.PROBE, probe=_was_sent) as sending:
        if sending.call:
            with OUTBOX.open("a") as outbox:
                outbox.write(json.dumps({"key": sending.key, **request}) + "\n")
            sending.confirm({"outbox": str(OUTBOX)})
    artifacts = job_context().artifacts  # langgraph.json says that there are some
    (artifacts.directory / "answer.md").write_text(f"# {state['urgency']}\n\n{state['answer']}\n")
    artifacts.add("answer.md", title="The answer as it was sent")
    return {"sent_as": sending.key}


def _was_sent(key: str) -> bool:
    lines = OUTBOX.read_text().splitlines() if OUTBOX.exists() else []
    return any(json.loads(line)["key"] == key for line in lines)


graph = StateGraph(Triage, input_schema=Ticket, output_schema=Answered)
graph.add_node("classify", classify)
graph.add_node("draft", draft)
graph.add_node("send", send)
graph.add_edge(START, "classify")
graph.add_edge("classify", "draft")
graph.add_edge("draft", "send")
graph.add_edge("send", END)
