"""LangChain's callbacks, told as the events of the jobs API.

The handler is synchronous and inline on purpose: for async nodes it runs on the loop, for sync nodes in the
node's thread, in both cases before the run goes on. So an event is recorded before what follows it, and a
recorder that raises ``JobStopped`` stops a node before it runs.
"""

import json
import re
from asyncio import CancelledError
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.errors import GraphBubbleUp, ParentCommand
from tenacity import RetryCallState

from jobdeck_backend.errors import JobStopped
from jobdeck_backend.workflows.context import Artifacts, JobContext
from jobdeck_backend.workflows.place import place, tasks_of
from jobdeck_backend.workflows.plain import bounded, digest, plain, words

TOOL_OUTPUT_CHARACTERS_MAX = 8_000
STAGE_CHARACTERS_MAX = 2_000
ERROR_CHARACTERS_MAX = 1_000
_UNFIT_FOR_FILES = re.compile(r"[^A-Za-z0-9_-]")
_STEP_TAG = "graph:step:"
_RETRY_TAG = "retry:attempt:"


class EventCallback(BaseCallbackHandler):
    """Translates one execution's callbacks. Pass it in the graph's ``config["callbacks"]``.

    Any method may raise ``JobStopped``, from the recorder.
    """

    run_inline = True
    raise_error = True

    def __init__(self, context: JobContext, workflow: str) -> None:
        self._recorder = context.recorder
        self._ledger = context.ledger
        self._artifacts = context.opted_artifacts
        self._job_id = context.job_id
        self._workflow = workflow
        self._stages: dict[UUID, tuple[tuple[str, int], tuple[str, ...]]] = {}
        self._failed: dict[tuple[str, int], str] = {}
        self._calls: dict[UUID, tuple[str, dict[str, Any]]] = {}

    # Stages

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """A graph node is about to run; every other chain event is LangGraph's own business."""
        stage = place(metadata)
        if metadata is None or stage is None or not any(tag.startswith(_STEP_TAG) for tag in tags or ()):
            self._tell_retry(tags, str((serialized or {}).get("name") or "a chain"), metadata)
            return
        if stage in self._failed:  # its retry policy runs it again
            self._retrying(stage[0], self._failed.pop(stage), self._metadata(stage))
        self._recorder.stage_started(*stage)
        self._ledger.stage_started(*stage)
        self._stages[run_id] = stage, tasks_of(metadata)
        data = {"input": bounded(inputs, STAGE_CHARACTERS_MAX)}
        self._record("workflow.start", run_id, name=stage[0], data=data, metadata=self._metadata(stage))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """A graph node ended; its output's hash is the evidence."""
        ended = self._stages.pop(run_id, None)
        if ended is not None:
            stage, tasks = ended
            self._stage_ended(run_id, stage, outputs, tasks[-1:])

    def _stage_ended(
        self, run_id: UUID, stage: tuple[str, int], outputs: Any, tasks: Collection[str]
    ) -> None:
        if self._artifacts is not None:
            # Before its output is saved: from then on the stage is never run again.
            self._artifacts.checkpoint(everything=True)
        self._recorder.stage_completed(*stage, digest(outputs), tasks)
        self._record(
            "workflow.end",
            run_id,
            name=stage[0],
            data={"output": bounded(outputs, STAGE_CHARACTERS_MAX)},
            metadata=self._metadata(stage),
        )

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A graph node raised: no failure if it was cancelled, interrupted or handed over to a node outside."""
        ended = self._stages.pop(run_id, None)
        if ended is None:
            return
        stage, tasks = ended
        if isinstance(error, ParentCommand):
            # Saved with the task around it that heeds the command.
            self._stage_ended(run_id, stage, error.args[0], tasks)
        elif not _is_stop(error):
            self._failed[stage] = type(error).__name__
            metadata = {**self._metadata(stage), "error": _error_text(error)}
            self._record("workflow.end", run_id, name=stage[0], metadata=metadata)

    # Model calls

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chat model was called."""
        self._tell_retry(tags, _name(serialized, kwargs, "model"), metadata)
        extra = {"message_count": sum(map(len, messages))}
        self._call_started("llm.start", run_id, _name(serialized, kwargs, "model"), metadata, extra=extra)

    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A completion model was called."""
        self._tell_retry(tags, _name(serialized, kwargs, "model"), metadata)
        extra = {"prompt_count": len(prompts)}
        self._call_started("llm.start", run_id, _name(serialized, kwargs, "model"), metadata, extra=extra)

    def on_llm_new_token(self, token: Any, *, run_id: UUID, chunk: Any = None, **_: Any) -> None:
        """A piece of text arrived. Some providers send content blocks in place of text."""
        text = token if isinstance(token, str) else _chunk_text(chunk)
        if text:
            self._record("llm.chunk", run_id, data={"chunk": plain(text)})

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """A model call is complete."""
        self._call_ended("llm.end", run_id, extra=_usage(response))

    def on_retry(self, retry_state: RetryCallState, *, run_id: UUID, **_: Any) -> None:
        """A model's own client tries a failed call again."""
        error = retry_state.outcome.exception() if retry_state.outcome else None
        name, own = self._calls.get(run_id, ("the model", self._metadata(None)))
        self._retrying(name, type(error).__name__, own)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A model call failed; whether it is tried again is told by a ``retry``."""
        if not _is_stop(error):
            self._call_ended("llm.end", run_id, extra={"error": _error_text(error)})

    # Tools

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool was called; its input is kept as an object."""
        self._tell_retry(tags, _name(serialized, kwargs, "tool"), metadata)
        arguments = inputs if inputs is not None else {"input": input_str}
        data = {"input": {key: bounded(item, TOOL_OUTPUT_CHARACTERS_MAX) for key, item in arguments.items()}}
        self._call_started("tool.start", run_id, _name(serialized, kwargs, "tool"), metadata, data=data)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        """A tool answered."""
        content = plain(output.content if isinstance(output, BaseMessage) else output)
        data = {"output": bounded(content, TOOL_OUTPUT_CHARACTERS_MAX)}
        if self._artifacts is not None and data["output"] != content:
            data["file_path"] = _keep_whole(self._artifacts, self._calls[run_id][0], content)
        failed = getattr(output, "status", None) == "error"
        extra = {"error": bounded(str(content), ERROR_CHARACTERS_MAX)} if failed else {}
        self._call_ended("tool.end", run_id, data=data, extra=extra)
        if self._artifacts is not None and not failed:
            self._artifacts.checkpoint(everything=False)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A tool raised: its end is told all the same."""
        if not _is_stop(error):
            text = _error_text(error)
            self._call_ended("tool.end", run_id, data={"output": text}, extra={"error": text})

    # What they share

    def _tell_retry(self, tags: list[str] | None, name: str, metadata: dict[str, Any] | None) -> None:
        """A run that LangChain's ``with_retry`` starts again carries the number of its try as a tag."""
        if any(tag.startswith(_RETRY_TAG) for tag in tags or ()):
            self._retrying(name, None, self._metadata(place(metadata)))

    def _retrying(self, name: str, error: str | None, metadata: Mapping[str, Any]) -> None:
        after = "" if error is None else f": {error}"
        self._recorder.record(
            "job.update", name="retry", data={"output": f"Retrying {name}{after}"}, metadata=metadata
        )

    def _call_started(
        self,
        type_: str,
        run_id: UUID,
        name: str,
        metadata: dict[str, Any] | None,
        *,
        data: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        own = self._metadata(place(metadata))
        self._calls[run_id] = (name, own)
        self._record(type_, run_id, name=name, data=data, metadata={**own, **(extra or {})})

    def _call_ended(
        self,
        type_: str,
        run_id: UUID,
        *,
        data: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        name, own = self._calls.pop(run_id, (None, self._metadata(None)))
        self._record(type_, run_id, name=name, data=data, metadata={**own, **(extra or {})})

    def _record(
        self,
        type_: str,
        run_id: UUID,
        *,
        name: str | None = None,
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._recorder.record(type_, id=str(run_id), name=name, data=data, metadata=metadata)

    def _metadata(self, stage: tuple[str, int] | None) -> dict[str, Any]:
        """Who speaks: the agent of a stage keeps its id over attempts, since it is the same piece of work."""
        node, step = stage or ("", -1)
        own: dict[str, Any] = {
            "workflow": self._workflow,
            "agent_id": str(uuid5(NAMESPACE_OID, f"{self._job_id}/{node}/{step}")),
        }
        if stage is not None:
            own["stage"] = {"node": node, "step": step}
        return own


def _name(serialized: Mapping[str, Any] | None, kwargs: Mapping[str, Any], otherwise: str) -> str:
    return str(kwargs.get("name") or (serialized or {}).get("name") or otherwise)


def _keep_whole(artifacts: Artifacts, tool: str, output: Any) -> str:
    """An output too long for its event, as a file; the same one has the same name in every attempt."""
    is_text = isinstance(output, str)
    text = output if is_text else json.dumps(output, ensure_ascii=False, indent=1)
    name = f"{_UNFIT_FOR_FILES.sub('_', tool)[:64]}-{digest(text)[:12]}.{'txt' if is_text else 'json'}"
    return artifacts.keep_text(f"tool-output/{name}", text, title=f"The whole output of {tool}")


def _is_stop(error: BaseException) -> bool:
    """Cancelled, interrupted or no longer the job's owner: an end, but no failure."""
    return isinstance(error, CancelledError | GraphBubbleUp | JobStopped) or not isinstance(error, Exception)


def _error_text(error: BaseException) -> str:
    return str(bounded(f"{type(error).__name__}: {words(error)}", ERROR_CHARACTERS_MAX))


def _chunk_text(chunk: Any) -> str:
    message = getattr(chunk, "message", None)
    return str(message.text) if isinstance(message, BaseMessage) else ""


def _usage(response: LLMResult) -> dict[str, Any]:
    """Token counts and the model's thinking, where it tells them."""
    extra: dict[str, Any] = {}
    for generation in _generations(response.generations):
        message = generation.message
        if isinstance(message, AIMessage) and message.usage_metadata:
            usage = message.usage_metadata
            extra["usage"] = {key: usage[key] for key in ("input_tokens", "output_tokens", "total_tokens")}
        thinking = [
            block.get("reasoning", "") for block in message.content_blocks if block["type"] == "reasoning"
        ]
        if any(thinking):
            extra["thinking"] = bounded("".join(map(str, thinking)), TOOL_OUTPUT_CHARACTERS_MAX)
    return extra


def _generations(generations: Sequence[Sequence[Any]]) -> list[ChatGeneration]:
    return [item for group in generations for item in group if isinstance(item, ChatGeneration)]
