"""From what a caller asked to a job that may be stored; the same for both contracts."""

from jobdeck_backend.addresses import check_url
from jobdeck_backend.api.jobs_schemas import EXPIRY_SECONDS, AskedFields
from jobdeck_backend.api.services import Services
from jobdeck_backend.api.times import parse
from jobdeck_backend.commands.submission import NewJob
from jobdeck_backend.errors import InvalidInput, SourcesRefused, TooLarge, UnknownWorkflow
from jobdeck_backend.workflows import registry
from jobdeck_backend.workflows.registry import Workflow


def workflow_named(name: str) -> Workflow:
    """The workflow a caller may ask for. Raises ``UnknownWorkflow``, of a broken one with what is wrong."""
    workflow = registry.find(name)
    if workflow is not None and not workflow.internal:
        return workflow
    for one in registry.broken():
        if one.name == name:
            raise UnknownWorkflow(f"workflow {name} cannot be used: {one.problem}; nothing was stored")
    known = [one.name for one in registry.known() if one.public]
    raise UnknownWorkflow(f"unknown agent_type; the known ones are: {', '.join(known)}", known=known)


def checked(
    serving: Services,
    asked: AskedFields,
    workflow: Workflow,
    text: str,
    *,
    job_id: str | None,
    expiry_seconds: int | None,
) -> NewJob:
    """The job asked for. Raises the refusal that the caller is told."""
    text = checked_text(serving, text)
    try:
        workflow.check_input(text)
    except ValueError as error:
        raise InvalidInput(f"input: {error}") from None
    _check_window(asked)
    _check_callback(asked.callback_url, allow_private=serving.settings.allow_private_addresses)
    return NewJob(
        agent_type=workflow.name,
        input=text,
        queue=asked.queue or workflow.name,
        job_id=job_id,
        thread_id=asked.thread_id,
        data_sources=_sources(asked.data_sources, workflow),
        expiry_seconds=EXPIRY_SECONDS if expiry_seconds is None else expiry_seconds,
        deadline=None if asked.deadline is None else parse(asked.deadline, "deadline"),
        deadline_seconds=asked.deadline_seconds,
        priority=asked.priority,
        after=tuple(asked.after),
        after_policy=asked.after_policy,
        stages_total=workflow.stages_total(text),
        callback_url=asked.callback_url,
        strict=asked.admission == "strict",
    )


def checked_text(serving: Services, text: str) -> str:
    """An input that can be stored: within its bound, without NUL. Raises ``TooLarge``, ``InvalidInput``."""
    if len(text.encode("utf-8", "surrogatepass")) > serving.settings.input_bytes_max:
        raise TooLarge(f"input may have at most {serving.settings.input_bytes_max} bytes; nothing was stored")
    try:
        text.encode()
    except ValueError as error:
        raise InvalidInput(f"input: {error}") from None
    return text.replace("\x00", "\ufffd")


def _check_window(asked: AskedFields) -> None:
    if asked.deadline is not None and asked.deadline_seconds is not None:
        raise InvalidInput("give deadline or deadline_seconds, not both")
    if asked.admission == "strict" and asked.deadline is None and asked.deadline_seconds is None:
        raise InvalidInput("a strict admission promises a deadline: give deadline or deadline_seconds")


def _check_callback(url: str | None, *, allow_private: bool) -> None:
    if url is None:
        return
    try:
        check_url(url, allow_private=allow_private)
    except InvalidInput as refusal:
        raise InvalidInput(f"callback_url: {refusal.message}; nothing was stored") from None


def _sources(asked: list[str] | None, workflow: Workflow) -> tuple[str, ...] | None:
    """Known ids as the registry spells them, once each. Raises ``SourcesRefused``."""
    if asked is None:
        return None
    known = {one.id.lower(): one.id for one in registry.DATA_SOURCES}
    wanted = dict.fromkeys(one.strip().lower() for one in asked)
    invalid = [one[:100] for one in asked if one.strip().lower() not in known]
    unavailable = [known[one] for one in wanted if one in known and known[one] not in workflow.data_sources]
    if invalid or unavailable:
        raise SourcesRefused(
            "data_sources names what this workflow cannot read; nothing was stored",
            invalid_ids=invalid[:20],
            unavailable_for_agent=unavailable,
            known_ids=list(known.values()),
        )
    return tuple(known[one] for one in wanted)
