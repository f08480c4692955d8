import asyncio
import importlib.util
import json

import pytest
from jobdeck_backend.errors import JobStopped, Unavailable
from jobdeck_backend.settings import Settings
from jobdeck_backend.workflows.agent import TURNS_MAX, converse
from jobdeck_backend.workflows.model import ask, chat_model
from jobdeck_backend.workflows.offline import OfflineChatModel
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from workflow_execution import Execution

SUMMARY = {
    "task": "review_summary",
    "title": "A",
    "licence": "MIT",
    "category": "permissive",
    "modified": False,
    "departures": [],
    "obligations": [
        {"group": "condition", "text": "Keep it", "clause": 3, "clause_name": "clause 3", "line": 9},
        {"group": "permission", "text": "Use it", "clause": 2, "clause_name": "clause 2", "line": 5},
    ],
}


class Flaky(BaseChatModel):
    """Fails ``failures`` times, then answers."""

    failures: int
    error: type[Exception] = TimeoutError
    status_code: int | None = None
    calls: int = 0

    @property
    def _llm_type(self):
        return "flaky"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.calls += 1
        if self.calls <= self.failures:
            error = self.error("the provider is away")
            if self.status_code:
                error.status_code = self.status_code
            raise error
        return ChatResult(generations=[ChatGeneration(message=AIMessage("well"))])


class CallsForEver(Flaky):
    """Asks for a tool as long as it has one."""

    failures: int = 0

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[tool.name for tool in tools])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.calls += 1
        calls = [
            {"name": name, "args": {"number": 1}, "id": f"{self.calls}-{name}"}
            for name in [*kwargs.get("tools", []), "unknown"]
        ]
        message = AIMessage("enough") if "tools" not in kwargs else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture
def execution(tmp_path):
    return Execution("probe", "{}", tmp_path)


def read_clause(number: int) -> str:
    """Read a clause."""
    return f"clause {number}"


def test_the_offline_model_says_the_same_whether_streamed_or_not_each_time():
    messages = [HumanMessage(json.dumps(SUMMARY))]
    model = OfflineChatModel(streaming=True)
    whole = model.invoke(messages)
    streamed = "".join(chunk.text for chunk in model.stream(messages))
    once_more = asyncio.run(model.ainvoke(messages))
    assert whole.text == streamed == once_more.text
    assert "keep it (clause 3, line 9)" in whole.text
    assert whole.usage_metadata == once_more.usage_metadata
    assert whole.usage_metadata["output_tokens"] == len(whole.text.split())
    assert OfflineChatModel(streaming=False).invoke(messages).text == whole.text


def test_the_offline_model_calls_its_tools_first_in_streams_too():
    model = OfflineChatModel(streaming=True).bind_tools([StructuredTool.from_function(read_clause)])
    messages = [HumanMessage(json.dumps(SUMMARY))]
    reply = model.invoke(messages)
    assert [(call["name"], call["args"]) for call in reply.tool_calls] == [("read_clause", {"number": 3})]
    streamed = None
    for chunk in model.stream(messages):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed.tool_calls == reply.tool_calls
    answered = [*messages, reply, ToolMessage("clause 3", tool_call_id=reply.tool_calls[0]["id"])]
    assert model.invoke(answered).text


def test_the_offline_models_pace_can_be_cancelled():
    async def cancel():
        model = OfflineChatModel(tokens_per_second=0.001, streaming=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await model.ainvoke("anything")

    asyncio.run(cancel())


def test_a_failed_call_is_tried_again_and_each_retry_is_told(execution):
    reply = asyncio.run(ask(Flaky(failures=2), [HumanMessage("?")], execution.context))
    assert reply.text == "well"
    retries = execution.recorder.of("job.update")
    assert [event["name"] for event in retries] == ["retry", "retry"]
    assert "TimeoutError: the provider is away" in retries[0]["data"]["output"]
    assert "attempt 2 of 4" in retries[0]["data"]["output"]


def test_the_last_error_is_raised_after_the_last_attempt(execution):
    model = Flaky(failures=99)
    with pytest.raises(TimeoutError):
        asyncio.run(ask(model, [HumanMessage("?")], execution.context))
    assert model.calls == execution.context.settings.model_attempts_max == 4
    assert len(execution.recorder.of("job.update")) == 3


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (400, 1), (429, 4), (503, 4)])
def test_only_what_may_get_better_is_tried_again(execution, status, calls):
    model = Flaky(failures=99, error=RuntimeError, status_code=status)
    with pytest.raises(RuntimeError):
        asyncio.run(ask(model, [HumanMessage("?")], execution.context))
    assert model.calls == calls


def test_a_stopped_job_is_not_tried_again(execution):
    model = Flaky(failures=99, error=JobStopped)
    with pytest.raises(JobStopped):
        asyncio.run(ask(model, [HumanMessage("?")], execution.context))
    assert model.calls == 1


def test_a_model_that_never_stops_calling_tools_has_to_answer_in_the_end(execution):
    model = CallsForEver()
    tools = [StructuredTool.from_function(read_clause)]
    assert asyncio.run(converse(model, tools, [HumanMessage("?")], execution.context)) == "enough"
    assert model.calls == TURNS_MAX + 1


def test_offline_is_the_default_and_paced_by_the_settings():
    model = chat_model(Settings(offline_tokens_per_second=7))
    assert isinstance(model, OfflineChatModel)
    assert (model.tokens_per_second, "streaming" in model.model_fields_set) == (7, True)


@pytest.mark.skipif(importlib.util.find_spec("langchain") is not None, reason="LangChain is installed")
def test_a_real_model_without_its_packages_says_what_to_install():
    with pytest.raises(Unavailable, match=r"install jobdeck\[models\]"):
        chat_model(Settings(model="openai:gpt-5"))
