"""One report on all reviews that a job waited for: gather, compare, report."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from jobdeck_backend.plural import plural
from jobdeck_backend.workflows.announce import tell_output
from jobdeck_backend.workflows.licences.portfolio import compare as compare_entries
from jobdeck_backend.workflows.licences.portfolio import gather as gather_entries
from jobdeck_backend.workflows.licences.portfolio_report import portfolio_report
from jobdeck_backend.workflows.model import ask, chat_model, text_of
from jobdeck_backend.workflows.registry import PORTFOLIO_STAGES, WorkflowResult
from jobdeck_backend.workflows.stages import stage

WORKFLOW = "portfolio"
TODOS = ("Gather the reviews", "Compare licences and obligations", "Write the portfolio report")
_RULES = (
    "You word the summary of a portfolio of licence reviews for people who must act on it. Use only the facts in"
    " the JSON you are given. One paragraph of plain prose, at most 100 words."
)


class PortfolioState(TypedDict, total=False):
    """Plain JSON all through."""

    entries: list[dict[str, Any]]
    comparison: dict[str, Any]
    markdown: str


async def gather(state: PortfolioState) -> PortfolioState:  # noqa: ARG001  LangGraph names it
    """Take what the reviews before this job found."""
    async with stage(WORKFLOW, "gather", PORTFOLIO_STAGES, TODOS) as context:
        entries = gather_entries(context.predecessors)
        reviews = plural(sum(entry["reviewed"] for entry in entries), "review")
        context.log(f"gathered {reviews} of {plural(len(entries), 'job')}")
        return {"entries": entries}


async def compare(state: PortfolioState) -> PortfolioState:
    """Count, find conflicts, list what needs a person."""
    async with stage(WORKFLOW, "compare", PORTFOLIO_STAGES, TODOS) as context:
        comparison = compare_entries(state["entries"])
        context.log(
            f"documents that need attention: {len(comparison['attention'])}, "
            f"{plural(len(comparison['conflicts']), 'conflict')}"
        )
        return {"comparison": comparison}


async def report(state: PortfolioState) -> PortfolioState:
    """Word the summary and put the report together."""
    async with stage(WORKFLOW, "report", PORTFOLIO_STAGES, TODOS) as context:
        entries, comparison = state["entries"], state["comparison"]
        facts = {
            "task": "portfolio_summary",
            "documents": len(entries),
            "kinds": comparison["kinds"],
            "licences": list(comparison["licences"]),
            "conflicts": len(comparison["conflicts"]),
            "attention": len(comparison["attention"]),
        }
        messages = [SystemMessage(_RULES), HumanMessage(json.dumps(facts))]
        summary = text_of(await ask(chat_model(context.settings), messages, context))
        markdown = portfolio_report(context.request, entries, comparison, summary)
        tell_output(context, markdown, "final_report")
        return {"markdown": markdown}


def builder(_request: str) -> StateGraph[PortfolioState]:
    """One graph for every portfolio."""
    return _build()


def initial_state(_request: str) -> Mapping[str, Any]:
    """Nothing gathered yet."""
    return {"entries": []}


def result(state: Mapping[str, Any]) -> WorkflowResult:
    """The report, and its figures."""
    return WorkflowResult(
        report=state["markdown"],
        data={"documents": len(state["entries"]), **state["comparison"]},
    )


@cache
def _build() -> StateGraph[PortfolioState]:
    graph: StateGraph[PortfolioState] = StateGraph(PortfolioState)
    graph.add_node("gather", gather)
    graph.add_node("compare", compare)
    graph.add_node("report", report)
    graph.add_edge(START, "gather")
    graph.add_edge("gather", "compare")
    graph.add_edge("compare", "report")
    graph.add_edge("report", END)
    return graph
