"""What every stage of a built-in workflow does around its work: the witness's lines and the todos."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from jobdeck_backend.workflows.announce import tell_todos
from jobdeck_backend.workflows.context import JobContext, job_context
from jobdeck_backend.workflows.journal import journal_completion, write_journal


@asynccontextmanager
async def stage(
    workflow: str, name: str, names: Sequence[str], todos: Sequence[str]
) -> AsyncIterator[JobContext]:
    """The job's context for one stage's work; its end is journalled only when the work ended well."""
    context = job_context()
    index = names.index(name)
    write_journal(context, workflow, "stage_started", name)
    tell_todos(context, todos, index)
    yield context
    if index + 1 == len(names):
        tell_todos(context, todos, len(todos))
    journal_completion(context, workflow, name)
