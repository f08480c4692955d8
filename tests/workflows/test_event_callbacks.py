import asyncio
import json
from typing import TypedDict

import pytest
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.workflows.callbacks import TOOL_OUTPUT_CHARACTERS_MAX, EventCallback
from jobdeck_backend.workflows.offline import OfflineChatModel
from jobdeck_backend.workflows.plain import bounded, digest, plain
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, interrupt
from workflow_execution import Execution, ListRecorder


class State(TypedDict, total=False):
    rounds: int
    value: object


def run_graph(tmp_path, node, *, route=None, recorder=None, retry_policy=None):
    """A graph of one node, looping while ``route`` says so."""
    execution = Execution("probe", "{}", tmp_path, recorder=recorder)
    graph = StateGraph(State)
    graph.add_node("work", node, retry_policy=retry_policy)
    graph.add_edge(START, "work")
    if route:
        graph.add_conditional_edges("work", route)
    else:
        graph.add_edge("work", END)
    config = {
        "configurable": {"thread_id": "t"},
        "callbacks": [EventCallback(execution.context, "test")],
    }
    compiled = graph.compile(checkpointer=InMemorySaver())
    return execution.recorder, compiled.ainvoke({"rounds": 0}, config, durability="sync")


def tool(function, **more):
    return StructuredTool.from_function(function, description="A tool.", **more)


def test_a_loop_is_many_stages_and_its_conditional_edge_none(tmp_path):
    async def work(state):
        return {"rounds": state["rounds"] + 1}

    recorder, run = run_graph(tmp_path, work, route=lambda state: "work" if state["rounds"] < 3 else END)
    asyncio.run(run)
    assert [stage[:3] for stage in recorder.stages if stage[0] == "completed"] == [
        ("completed", "work", step) for step in (1, 2, 3)
    ]
    assert [event["type"] for event in recorder.events] == ["workflow.start", "workflow.end"] * 3
    hashes = [stage[3] for stage in recorder.stages if stage[0] == "completed"]
    assert hashes == [digest({"rounds": number}) for number in (1, 2, 3)]


def test_start_and_end_of_one_call_share_an_id_and_say_their_stage(tmp_path):
    async def work(_state):
        await tool(lambda query: query.upper(), name="shout").ainvoke({"query": "hello"})
        model = OfflineChatModel(streaming=True)
        await model.ainvoke([HumanMessage(json.dumps({"task": "say_words", "words": 3}))])
        return {}

    recorder, run = run_graph(tmp_path, work)
    asyncio.run(run)
    (tool_start,), (tool_end,) = recorder.of("tool.start"), recorder.of("tool.end")
    assert tool_start["id"] == tool_end["id"]
    assert tool_start["name"] == tool_end["name"] == "shout"
    assert tool_start["data"] == {"input": {"query": "hello"}}
    assert tool_end["data"] == {"output": "HELLO"}
    (start,), (end,) = recorder.of("llm.start"), recorder.of("llm.end")
    assert {event["id"] for event in recorder.of("llm.chunk")} == {start["id"]} == {end["id"]}
    for event in (tool_start, tool_end, start, end):
        assert event["metadata"]["stage"] == {"node": "work", "step": 1}
        assert event["metadata"]["workflow"] == "test"
    assert len({event["metadata"]["agent_id"] for event in recorder.events if event["metadata"]}) == 1


def test_a_failed_tool_is_told_with_its_error(tmp_path):
    def fail():
        raise RuntimeError("no luck")

    async def work(_state):
        await tool(fail, name="luck").ainvoke({})

    recorder, run = run_graph(tmp_path, work)
    with pytest.raises(RuntimeError):
        asyncio.run(run)
    (end,) = recorder.of("tool.end")
    assert end["metadata"]["error"] == "RuntimeError: no luck"
    assert end["id"] == recorder.of("tool.start")[0]["id"]
    assert recorder.of("workflow.end")[0]["metadata"]["error"] == "RuntimeError: no luck"


def test_a_tools_output_is_bounded_and_says_how_long_it_was(tmp_path):
    async def work(_state):
        await tool(lambda: "x" * 50_000, name="long").ainvoke({})

    recorder, run = run_graph(tmp_path, work)
    asyncio.run(run)
    output = recorder.of("tool.end")[0]["data"]["output"]
    assert recorder.of("workflow.start")[0]["data"] == {"input": {"rounds": 0}}
    assert output.startswith("x" * TOOL_OUTPUT_CHARACTERS_MAX)
    assert output.endswith("(50,000 characters in all)")


def test_an_interrupt_is_no_failure(tmp_path):
    async def work(_state):
        interrupt("a person is asked")

    recorder, run = run_graph(tmp_path, work)
    asyncio.run(run)
    assert recorder.of("workflow.end") == []
    assert recorder.completed == []


def test_a_job_that_is_stopped_ends_in_the_middle_of_a_model_call_and_is_no_failure(tmp_path):
    class StopsAtSecondChunk(ListRecorder):
        def record(self, type, **event):  # noqa: A002
            super().record(type, **event)
            if len(self.of("llm.chunk")) == 2:
                raise JobStopped("cancelled")

    async def work(_state):
        model = OfflineChatModel(streaming=True)
        await model.ainvoke([HumanMessage(json.dumps({"task": "say_words", "words": 9}))])

    recorder, run = run_graph(tmp_path, work, recorder=StopsAtSecondChunk())
    with pytest.raises(JobStopped):
        asyncio.run(run)
    assert len(recorder.of("llm.chunk")) == 2
    assert recorder.of("llm.end") == recorder.of("workflow.end") == []


def test_content_blocks_become_text_and_thinking_is_kept_apart(tmp_path):
    recorder = ListRecorder()
    callback = EventCallback(Execution("probe", "{}", tmp_path, recorder=recorder).context, "test")
    run_id = "00000000-0000-0000-0000-000000000001"
    callback.on_chat_model_start({"name": "Thinker"}, [[HumanMessage("?")]], run_id=run_id)
    blocks = [{"type": "text", "text": "forty"}]
    chunk = ChatGenerationChunk(message=AIMessageChunk(content=blocks))
    callback.on_llm_new_token(blocks, chunk=chunk, run_id=run_id)
    callback.on_llm_new_token("", run_id=run_id)
    message = AIMessage(
        content=[{"type": "reasoning", "reasoning": "six times seven"}, {"type": "text", "text": "42"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    callback.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=run_id)
    assert [event["data"]["chunk"] for event in recorder.of("llm.chunk")] == ["forty"]
    (end,) = recorder.of("llm.end")
    assert end["name"] == "Thinker"
    assert end["metadata"]["thinking"] == "six times seven"
    assert end["metadata"]["usage"] == {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def test_a_value_that_is_not_json_becomes_its_text_and_text_what_a_database_takes():
    loop = {}
    loop["self"] = loop
    odd = {
        1: float("nan"),
        "set": {7},
        "nul": "a\x00b",
        "half": "\ud800",
        "tuple": (1, object),
        "loop": loop,
        "huge": 10**30,
    }
    made = plain(odd)
    json.dumps(made, allow_nan=False).encode()
    assert made["1"] == "nan"
    assert made["set"] == "{7}"
    assert made["nul"] == "a\ufffdb"
    assert made["half"] == "?"
    assert made["huge"] == str(10**30)
    assert made["tuple"] == [1, "<class 'object'>"]


def test_the_hash_of_an_output_knows_neither_order_nor_type_of_sequence():
    assert digest({"b": [1, 2], "a": "é"}) == digest({"a": "é", "b": (1, 2)})
    assert digest({"a": 1}) != digest({"a": "1"})
    assert bounded({"a": 1}, 100) == {"a": 1}


def told_retries(recorder):
    return [
        (event["name"], event["data"]["output"], event["metadata"]["workflow"])
        for event in recorder.of("job.update")
    ]


def test_a_stage_that_its_retry_policy_runs_again_is_told_as_a_retry(tmp_path):
    tries = []

    async def work(_state):
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("no answer")
        return {}

    policy = RetryPolicy(initial_interval=0.001, max_attempts=3)
    recorder, run = run_graph(tmp_path, work, retry_policy=policy)
    asyncio.run(run)
    assert told_retries(recorder) == [("retry", "Retrying work: ConnectionError", "test")] * 2
    assert [stage[0] for stage in recorder.stages].count("completed") == 1


def test_a_tool_and_a_chain_that_are_tried_again_are_told_as_retries(tmp_path):
    tries = []

    def flaky(query: str) -> str:
        tries.append(query)
        if len(tries) % 2:
            raise ConnectionError("no answer")
        return query

    async def work(_state):
        again = {"stop_after_attempt": 2, "wait_exponential_jitter": False}
        await tool(flaky, name="flaky").with_retry(**again).ainvoke({"query": "tool"})
        await RunnableLambda(flaky).with_retry(**again).ainvoke("chain")
        return {}

    recorder, run = run_graph(tmp_path, work)
    asyncio.run(run)
    assert [name for name, *_ in told_retries(recorder)] == ["retry", "retry"]
    assert "flaky" in told_retries(recorder)[0][1]
