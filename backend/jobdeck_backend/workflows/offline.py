"""The scripted chat model: a pure function of its messages, so that runs are repeatable and need no network.

It reads its task from the last message of a person, the same JSON any other model is given, and words the
facts it finds there. With tools bound it first calls what its script calls, as a real model would.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from jobdeck_backend.workflows.offline_script import answer

_TOKEN = re.compile(r"\s*\S+|\s+$")


class OfflineChatModel(BaseChatModel):
    """Streams its script's answer word by word.

    ``streaming=True`` has to be passed, not defaulted: LangChain looks at the fields that were set.
    """

    tokens_per_second: float | None = None
    """None: as fast as it goes."""
    streaming: bool = True

    @property
    def _llm_type(self) -> str:
        return "jobdeck-offline"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with these tools to call."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        whole: AIMessageChunk | None = None
        for chunk in _chunks(messages, kwargs):
            whole = chunk if whole is None else whole + chunk
        assert whole is not None
        message = AIMessage(
            content=whole.content, tool_calls=whole.tool_calls, usage_metadata=whole.usage_metadata
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, kwargs):
            if chunk.content:
                time.sleep(self._pause_s)
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, kwargs):
            await asyncio.sleep(self._pause_s if chunk.content else 0)
            yield ChatGenerationChunk(message=chunk)

    @property
    def _pause_s(self) -> float:
        return 1 / self.tokens_per_second if self.tokens_per_second else 0.0


def _chunks(messages: list[BaseMessage], kwargs: dict[str, Any]) -> Iterator[AIMessageChunk]:
    """The script's answer as a provider would stream it: words or tool calls, the usage last."""
    tools = [tool["function"]["name"] for tool in kwargs.get("tools", ())]
    reply = answer(messages, tools)
    tokens = _TOKEN.findall(reply.text)
    for token in tokens:
        yield AIMessageChunk(content=token)
    for index, (name, arguments) in enumerate(reply.calls):
        call = tool_call_chunk(
            name=name, args=json.dumps(arguments), id=f"call_{len(messages)}_{index}", index=index
        )
        yield AIMessageChunk(content="", tool_call_chunks=[call])
    read = sum(len(_TOKEN.findall(message.text)) for message in messages)
    written = len(tokens) + len(reply.calls)
    yield AIMessageChunk(
        content="",
        usage_metadata={"input_tokens": read, "output_tokens": written, "total_tokens": read + written},
        chunk_position="last",
    )
