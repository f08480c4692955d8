"""Editing the report of a finished job: one stage, the report and the instruction in, the new report out."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from jobdeck_backend.workflows.announce import tell_output
from jobdeck_backend.workflows.model import ask, chat_model, text_of
from jobdeck_backend.workflows.registry import REPORT_REWRITER, REWRITE_STAGES, WorkflowResult
from jobdeck_backend.workflows.stages import stage

TODOS = ("Rewrite the report",)
_RULES = (
    "You edit a report as its reader asks. Change what the instruction asks for and keep everything else,"
    " citations and headings included; add no facts. Answer with the whole report in Markdown and nothing else."
)


class RewriteState(TypedDict, total=False):
    """Plain JSON all through."""

    markdown: str


async def rewrite(state: RewriteState) -> RewriteState:  # noqa: ARG001  LangGraph names it
    """Ask the model for the report as it should be."""
    async with stage(REPORT_REWRITER, "rewrite", REWRITE_STAGES, TODOS) as context:
        facts = {"task": "rewrite_report", **json.loads(context.request)}
        messages = [SystemMessage(_RULES), HumanMessage(json.dumps(facts))]
        markdown = text_of(await ask(chat_model(context.settings), messages, context))
        tell_output(context, markdown, "final_report")
        return {"markdown": markdown}


def builder(_request: str) -> StateGraph[RewriteState]:
    """One graph for every edit."""
    return _build()


def initial_state(_request: str) -> Mapping[str, Any]:
    """Nothing written yet."""
    return {"markdown": ""}


def result(state: Mapping[str, Any]) -> WorkflowResult:
    """The new report."""
    return WorkflowResult(report=state["markdown"])


@cache
def _build() -> StateGraph[RewriteState]:
    graph: StateGraph[RewriteState] = StateGraph(RewriteState)
    graph.add_node("rewrite", rewrite)
    graph.add_edge(START, "rewrite")
    graph.add_edge("rewrite", END)
    return graph
