"""Review of one licence document: read, extract its clauses, identify licence and obligations, report, notify.

Every fact comes from reading the document; the model only words them. The text is not kept in the state, the job's
request has it.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from jobdeck_backend.errors import AddressRefused
from jobdeck_backend.jobs.records import Policy
from jobdeck_backend.workflows.agent import converse
from jobdeck_backend.workflows.announce import tell_citation, tell_output
from jobdeck_backend.workflows.context import JobContext, job_context
from jobdeck_backend.workflows.effects import effect
from jobdeck_backend.workflows.licences.obligation_table import obligations_csv
from jobdeck_backend.workflows.licences.report import citation_url, review_report
from jobdeck_backend.workflows.licences.review import joined
from jobdeck_backend.workflows.licences.tools import DocumentTools
from jobdeck_backend.workflows.model import ask, chat_model, text_of
from jobdeck_backend.workflows.registry import WorkflowResult
from jobdeck_backend.workflows.review_input import NOTIFY_STAGE, parse_document, review_stages
from jobdeck_backend.workflows.stages import stage
from jobdeck_backend.workflows.webhook import NotDelivered, post

WORKFLOW = "contract_review"
TODOS = (
    "Read the document",
    "Extract its clauses",
    "Identify the licence and its obligations",
    "Write the report",
    "Tell whoever asked",
)
_RULES = (
    "You word the findings of a licence review for people who must act on them. Use only the facts in the JSON you"
    " are given; name no licence, clause or obligation that is not in it. Plain prose, no headings, no lists."
)

_TOLD_ON = ("licence", "confidence", "modified", "category", "mentions", "deviations", "obligations")


class ReviewState(TypedDict, total=False):
    """Plain JSON all through, since it is checkpointed after each stage."""

    document: dict[str, Any]
    clauses: list[dict[str, Any]]
    findings: dict[str, Any]
    note: str
    summary: str
    markdown: str


async def read(state: ReviewState) -> ReviewState:  # noqa: ARG001  LangGraph names it
    """Take the document in: its title, size and fingerprint."""
    async with _stage("read") as context:
        tools = DocumentTools(parse_document(context.request))
        return {"document": await tools.read_document.ainvoke({})}


async def extract_clauses(state: ReviewState) -> ReviewState:  # noqa: ARG001  LangGraph names it
    """Cut the document into clauses with their positions."""
    async with _stage("extract_clauses") as context:
        tools = DocumentTools(parse_document(context.request))
        return {"clauses": await tools.split_clauses.ainvoke({})}


async def identify_licence(state: ReviewState) -> ReviewState:
    """Find out which licence it is, how it was changed and what it obliges to, each with its place."""
    async with _stage("identify_licence") as context:
        tools = DocumentTools(parse_document(context.request))
        findings = joined(await tools.identify_licence.ainvoke({}), await tools.find_obligations.ainvoke({}))
        title = state["document"]["title"]
        for place in _places(findings):
            url = citation_url(title, place)
            tell_citation(
                context,
                "citation_source",
                url,
                place["clause_name"],
                tool="find_obligations",
                line=place["line"],
                quote=place["quote"],
            )
        note = await _word(context, "review_note", {"title": title, **_facts(findings)}, words_max=60)
        tell_output(context, note, "intermediate")
        return {"findings": findings, "note": note}


async def report(state: ReviewState) -> ReviewState:
    """Word the summary, after a look at the clauses that matter, and put the report together."""
    async with _stage("report") as context:
        tools = DocumentTools(parse_document(context.request))
        document, findings = state["document"], state["findings"]
        facts = {"task": "review_summary", "title": document["title"], **_facts(findings)}
        messages = [
            SystemMessage(f"{_RULES} At most 140 words. Read a clause before you speak of it."),
            HumanMessage(json.dumps(facts)),
        ]
        summary = await converse(chat_model(context.settings), [tools.read_clause], messages, context)
        markdown = review_report(document, state["clauses"], findings, summary)
        for place in _places(findings):
            url = citation_url(document["title"], place)
            tell_citation(context, "citation_use", url, place["clause_name"], line=place["line"])
        tell_output(context, markdown, "final_report")
        _leave_files(context, document["title"], findings["obligations"], markdown)
        return {"summary": summary, "markdown": markdown}


async def notify(state: ReviewState) -> ReviewState:
    """Tell the webhook the input names, once: an effect, so a lost answer is not a second message."""
    async with _stage(NOTIFY_STAGE) as context:
        url = parse_document(context.request).notify_url
        assert url is not None
        findings = state["findings"]
        body = {
            "job_id": context.job_id,
            "title": state["document"]["title"],
            "licence": findings["licence"],
            "obligations": len(findings["obligations"]),
        }
        with effect("webhook", request={"url": url, "body": body}, policy=Policy.IDEMPOTENT) as told:
            if told.call:
                try:
                    status = await post(url, body, key=told.key, settings=context.settings)
                except (AddressRefused, NotDelivered) as error:
                    told.failed(error.message)
                    raise
                told.confirm({"status": status})
        return {}


def builder(request: str) -> StateGraph[ReviewState]:
    """One graph for every document, and one for those of whose end somebody is told."""
    return _build(review_stages(request))


def initial_state(_request: str) -> Mapping[str, Any]:
    """Nothing known yet."""
    return {"note": ""}


def result(state: Mapping[str, Any]) -> WorkflowResult:
    """The report, and the facts for a portfolio."""
    document, findings = state["document"], state["findings"]
    return WorkflowResult(
        report=state["markdown"],
        data={
            "title": document["title"],
            "sha256": document["sha256"],
            "clauses": len(state["clauses"]),
            "summary": state["summary"],
            **{key: findings[key] for key in _TOLD_ON},
        },
    )


_NODES = {
    "read": read,
    "extract_clauses": extract_clauses,
    "identify_licence": identify_licence,
    "report": report,
    NOTIFY_STAGE: notify,
}


@cache
def _build(stages: tuple[str, ...]) -> StateGraph[ReviewState]:
    graph: StateGraph[ReviewState] = StateGraph(ReviewState)
    before = START
    for name in stages:
        graph.add_node(name, _NODES[name])
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph


@asynccontextmanager
async def _stage(name: str) -> AsyncIterator[JobContext]:
    stages = review_stages(job_context().request)
    async with stage(WORKFLOW, name, stages, TODOS[: len(stages)]) as context:
        yield context


async def _word(context: JobContext, task: str, facts: dict[str, Any], *, words_max: int) -> str:
    messages = [
        SystemMessage(f"{_RULES} At most {words_max} words."),
        HumanMessage(json.dumps({"task": task, **facts})),
    ]
    return text_of(await ask(chat_model(context.settings), messages, context))


def _facts(findings: dict[str, Any]) -> dict[str, Any]:
    """What the model is told: enough to word, nothing to invent from."""
    return {
        "licence": findings["licence"],
        "names": [item["name"] for item in findings["licences"]],
        "confidence": findings["confidence"],
        "modified": findings["modified"],
        "category": findings["category"],
        "mentions": findings["mentions"],
        "departures": [f"{item['kind']}: {item['text']}" for item in findings["deviations"][:5]],
        "obligations": [
            {key: item[key] for key in ("group", "text", "clause", "clause_name", "line")}
            for item in findings["obligations"]
        ],
    }


def _leave_files(context: JobContext, title: str, obligations: list[dict[str, Any]], markdown: str) -> None:
    directory = context.artifacts.directory
    (directory / "obligations.csv").write_text(obligations_csv(obligations), encoding="utf-8", newline="")
    (directory / "report.md").write_text(markdown, encoding="utf-8")
    words = f"{len(obligations)} permissions, conditions and limitations, each with its place"
    context.artifacts.add("obligations.csv", title=f"Obligations of {title}"[:200], caption=words)
    context.artifacts.add("report.md", title=f"Licence review: {title}"[:200])


def _places(findings: dict[str, Any]) -> list[dict[str, Any]]:
    """One place for each clause that an obligation rests on."""
    return list({item["clause"]: item for item in reversed(findings["obligations"])}.values())[::-1]
