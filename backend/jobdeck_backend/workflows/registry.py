"""Which workflows there are, told without importing a graph.

The server lists and checks workflows by these records; only a worker calls ``load``, which imports the
graph's module (and with it LangGraph).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from jobdeck_backend.workflows.probe_input import check_probe, count_probe_stages
from jobdeck_backend.workflows.review_input import REVIEW_STAGES, check_document, review_stages
from jobdeck_backend.workflows.sources import Broken, Source

PORTFOLIO_STAGES = ("gather", "compare", "report")
REWRITE_STAGES = ("rewrite",)
REPORT_REWRITER = "report_rewriter"


@dataclass(frozen=True)
class DataSource:
    """Something a workflow can read from."""

    id: str
    name: str
    description: str
    default_enabled: bool = True
    requires_auth: bool = False
    per_user_auth: bool = False


DOCUMENT = DataSource("document", "Submitted document", "The document that came as the job's own input.")
DATA_SOURCES = (DOCUMENT,)


@dataclass(frozen=True)
class WorkflowResult:
    """What a finished graph gives: a report to read and data for the jobs that come after."""

    report: str | None
    data: Any = None


class GraphModule(Protocol):
    """What a module under ``workflows.graphs`` offers."""

    def builder(self, request: str) -> Any:
        """The ``StateGraph`` (not compiled) for this input; the same object for the same shape of graph.

        Perhaps one to be awaited.
        """

    def initial_state(self, request: str) -> Mapping[str, Any]:
        """The first state of the graph. Runs inside the job context."""

    def result(self, state: Mapping[str, Any]) -> WorkflowResult:
        """What the final state amounts to."""


def _accept(_request: str) -> None:
    """Any text is a valid input."""


@dataclass(frozen=True)
class Workflow:
    """One workflow that jobs can name."""

    name: str
    description: str
    module: str
    stages: tuple[str, ...]
    public: bool = True
    internal: bool = False
    """Whether only the server itself starts it."""
    data_sources: tuple[str, ...] = ()
    """Ids of the data sources it can use."""
    check_input: Callable[[str], None] = _accept
    """Raises ``ValueError`` with a sentence for the caller when the input cannot be run."""
    count_stages: Callable[[str], int | None] | None = None
    """How many stages this input runs, where that differs from ``stages``; None: nobody knows."""
    artifacts: bool = False
    """Whether it leaves files behind: its job context has ``artifacts`` then."""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    output_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    source: Source | None = None
    """Where a user's own graph is; None for a built-in one."""

    def load(self) -> GraphModule:
        """Import the graph's module."""
        return _authored(self.source) if self.source else cast("GraphModule", import_module(self.module))

    def stages_total(self, request: str) -> int | None:
        """How many stages this input runs, where that is known."""
        return self.count_stages(request) if self.count_stages else len(self.stages)


_REPORT_WITH_DATA = {
    "type": "object",
    "properties": {"report": {"type": "string"}, "data": {"type": "object"}},
}
WORKFLOWS: tuple[Workflow, ...] = (
    Workflow(
        name="contract_review",
        description=(
            "Reads a licence document, finds its clauses, says which licence it is and what it obliges to, "
            "and cites the place of each finding. Leaves a CSV of obligations and the report as files. "
            "Input: the text, or a JSON object with title, text and, "
            "to have a webhook told, notify_url."
        ),
        module="jobdeck_backend.workflows.graphs.contract_review",
        stages=REVIEW_STAGES,
        check_input=check_document,
        count_stages=lambda request: len(review_stages(request)),
        artifacts=True,
        output_schema=_REPORT_WITH_DATA,
        data_sources=(DOCUMENT.id,),
    ),
    Workflow(
        name="portfolio",
        description=(
            "Joins the reviews it waits for into one report: licences, obligations, and what needs attention. "
            "Name the reviews in after; the input is the report's title."
        ),
        module="jobdeck_backend.workflows.graphs.portfolio",
        stages=PORTFOLIO_STAGES,
        output_schema=_REPORT_WITH_DATA,
    ),
    Workflow(
        name=REPORT_REWRITER,
        description="Edits the report of a finished job as it is asked to. Started by a report's edit.",
        module="jobdeck_backend.workflows.graphs.report_rewriter",
        stages=REWRITE_STAGES,
        public=False,
        internal=True,
        input_schema={"type": "string", "contentMediaType": "application/json"},
        output_schema=_REPORT_WITH_DATA,
    ),
    Workflow(
        name="probe",
        description="Does exactly what its input says: for drills, tests and measurements.",
        module="jobdeck_backend.workflows.graphs.probe",
        stages=(),
        public=False,
        check_input=check_probe,
        count_stages=count_probe_stages,
        artifacts=True,
        input_schema={"type": "string", "contentMediaType": "application/json"},
        output_schema={},
    ),
)
_BUILT_IN = {workflow.name: workflow for workflow in WORKFLOWS}
_users: dict[str, Workflow] = {}
_broken: list[Broken] = []


def install(workflows: Sequence[Workflow], broken: Sequence[Broken] = ()) -> None:
    """At a process's start: the users' own workflows, and those of them that cannot be used."""
    _users.update({workflow.name: workflow for workflow in workflows if workflow.name not in _BUILT_IN})
    _broken.extend(broken)


def known() -> tuple[Workflow, ...]:
    """All that jobs can name, public or not."""
    return (*WORKFLOWS, *_users.values())


def authored() -> tuple[str, ...]:
    """The names of the users' own that can be used."""
    return tuple(_users)


def broken() -> tuple[Broken, ...]:
    """Those that cannot be used, and why."""
    return tuple(_broken)


def find(name: str) -> Workflow | None:
    """The workflow of that name, public or not."""
    return _BUILT_IN.get(name) or _users.get(name)


@cache
def _authored(source: Source) -> GraphModule:
    from jobdeck_backend.workflows.authored import AuthoredModule

    return AuthoredModule(source)
