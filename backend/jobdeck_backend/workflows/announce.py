"""What a workflow tells beside its callbacks: todos, outputs and citations, as ``artifact.update`` events."""

from collections.abc import Sequence
from typing import Any, Literal

from jobdeck_backend.workflows.context import JobContext
from jobdeck_backend.workflows.plain import plain

Category = Literal["research_notes", "draft", "intermediate", "final_report"]


def tell_todos(context: JobContext, contents: Sequence[str], done: int) -> None:
    """The whole list: the first ``done`` are completed, the next one is in progress."""
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(contents)
    items = [
        {"content": content, "status": status} for content, status in zip(contents, statuses, strict=False)
    ]
    # Without metadata: clients of the jobs API show only todos that no agent claims.
    _tell(context, {"type": "todo", "content": items, "source": "orchestrator"})


def tell_output(context: JobContext, content: str, category: Category) -> None:
    """A text the workflow made; ``final_report`` once, at its end."""
    _tell(context, {"type": "output", "content": content, "output_category": category})


def tell_citation(
    context: JobContext,
    kind: Literal["citation_source", "citation_use"],
    url: str,
    name: str,
    **details: Any,
) -> None:
    """A place in a document that was found (``citation_source``) or that the report leans on."""
    _tell(context, {"type": kind, "content": url, "url": url, **details}, name)


def _tell(context: JobContext, data: dict[str, Any], name: str | None = None) -> None:
    context.recorder.record("artifact.update", name=name, data=plain(data))
