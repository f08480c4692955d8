"""What an author's code may say and do: nothing of it stops the store, no job of it goes on unseen (fault 14)."""

import json
import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from authored import AuthoredJob
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.workflows.context import job_context
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt as ask

HALF = "\ud800"
LONG = "x" * 50_000


class Wordless:
    def __repr__(self) -> str:
        raise RuntimeError("it has no words")


class WordlessError(Exception):
    __str__ = Wordless.__repr__


def looped() -> dict[str, Any]:
    one: dict[str, Any] = {"deep": nested(5_000)}
    one["self"] = one
    return one


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


class State(TypedDict, total=False):
    values: dict[str, Any]
    nul: str
    half: str
    nan: float
    huge: float


def graph(*nodes: Callable[[State], State | None]) -> StateGraph:
    built, before = StateGraph(State), START
    for number, node in enumerate(nodes):
        built.add_node(f"s{number}", node)
        built.add_edge(before, f"s{number}")
        before = f"s{number}"
    built.add_edge(before, END)
    return built


SAID: dict[str, Any] = {
    "nul": ("a\0b", "a\ufffdb"),
    "half a pair": (f"a{HALF}b", "a?b"),
    "bytes": (b"\xff", "b'\\xff'"),
    "not a number": (math.nan, "nan"),
    "infinite": (math.inf, "inf"),
    "huge": (10**30, str(10**30)),
    "a set": ({7}, "{7}"),
    "wordless": (Wordless(), "<Wordless>"),
    "keys": ({HALF: 1, (1, 2): 2, None: 3}, {"?": 1, "(1, 2)": 2, "None": 3}),
}


def test_what_is_no_json_or_no_text_is_told_as_text_and_stops_nothing(job: AuthoredJob) -> None:
    def say(_state: State) -> None:
        context = job_context()
        for name, (value, _text) in SAID.items():
            context.recorder.record(
                "job.update", name=HALF + name, data={"value": value}, metadata={"m": value}
            )
        context.recorder.record("job.update", name="loop", data=looped())
        context.log(f"the note \0{HALF}")

    job.accept(graph(say, lambda _state: job_context().log("after")))
    ended = job.attempt()
    assert (ended.status, ended.note) == (Status.SUCCESS, "after")
    told = job.told("job.update")
    for _value, text in SAID.values():
        assert {"value": text} in told
    assert {"output": "the note \ufffd?"} in told


def exit_process(_state: State) -> None:
    sys.exit(3)


def interrupt(_state: State) -> None:
    raise KeyboardInterrupt


def raise_half(_state: State) -> None:
    raise FileNotFoundError(f"no file {HALF}\0")


def raise_wordless(_state: State) -> None:
    raise WordlessError


def call_a_tool_that_fails(_state: State) -> None:
    def fail() -> None:
        raise ValueError(f"no luck {HALF}\0")

    StructuredTool.from_function(fail, name="luck", description="Fails.").invoke({})


class Bottomless(BaseException):
    """Which no ``except Exception`` sees."""


def raise_the_base_of_all(_state: State) -> None:
    raise Bottomless("not even an Exception")


async def raise_the_base_of_all_later(_state: State) -> None:
    raise Bottomless("later")


def ask_a_person(_state: State) -> None:
    ask("shall I?")


async def run_a_graph_that_saves_nothing(state: State) -> Any:
    return await graph(lambda _state: None).compile(checkpointer=False).ainvoke(state)


async def exit_later(_state: State) -> None:
    sys.exit("enough")


@pytest.mark.parametrize(
    ("node", "error"),
    [
        (exit_process, "SystemExit: 3"),
        (exit_later, "SystemExit: enough"),
        (interrupt, "KeyboardInterrupt: "),
        (raise_the_base_of_all, "Bottomless: not even an Exception"),
        (raise_the_base_of_all_later, "Bottomless: later"),
        (raise_half, "FileNotFoundError: no file ?\ufffd"),
        (raise_wordless, "WordlessError: <WordlessError>"),
        (call_a_tool_that_fails, "ValueError: no luck ?\ufffd"),
    ],
)
def test_however_a_stage_fails_its_job_fails_with_words_and_the_slot_goes_on(
    job: AuthoredJob, node: Callable[[State], Any], error: str
) -> None:
    job.accept(graph(node))
    ended = job.attempt()
    assert (ended.status, ended.error) == (Status.FAILURE, error)
    assert [one["error"] for one in job.told("job.error")] == [error]


@pytest.mark.parametrize(
    ("node", "says"),
    [
        (ask_a_person, "before its end, at s0: nobody here answers interrupts"),
        (run_a_graph_that_saves_nothing, "checkpointer=False cannot run inside one whose stages are saved"),
    ],
)
def test_what_langgraph_offers_and_jobs_cannot_have_is_said_in_words(
    job: AuthoredJob, node: Callable[[State], Any], says: str
) -> None:
    job.accept(graph(node))
    ended = job.attempt()
    assert ended.status is Status.FAILURE
    assert says in str(ended.error)


@pytest.mark.parametrize(
    "kind", ["job.status", "job.shutdown", "stream.mode", "job.cancelled", "a\ndata: x", HALF]
)
def test_an_execution_tells_of_nothing_that_is_the_servers(job: AuthoredJob, kind: str) -> None:
    job.accept(graph(lambda _state: job_context().recorder.record(kind, data={})))
    ended = job.attempt()
    assert ended.status is Status.FAILURE
    assert "tells of no" in str(ended.error)
    assert job.told(kind) == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_r20_state_of_any_text_and_number_is_resumed_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, kind: str
) -> None:
    settings = {}
    if kind == "sqlite":
        shutil.copy(request.getfixturevalue("empty_database"), tmp_path / "jobdeck.db")
    else:
        settings = {"db_url": request.getfixturevalue("new_postgres_database")()}
    job = AuthoredJob(tmp_path, monkeypatch, settings=settings)
    odd: State = {
        "nul": "a\0b",
        "half": f"a{HALF}b",
        "nan": math.nan,
        "huge": -math.inf,
        "values": {"\0": ["\0", HALF, b"\0\xff", 2**63, math.nan]},
    }
    seen: list[State] = []

    def look(state: State) -> None:
        seen.append(state)
        if job_context().attempt == 1:
            raise RuntimeError

    job.accept(graph(lambda _state: odd, look))
    assert job.attempt().status is Status.FAILURE
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    first, resumed = (repr(sorted(one.items())) for one in seen)
    assert first == repr(sorted(odd.items()))
    assert resumed == first.replace("\\ud800", "?"), "LangGraph's own way with what has no UTF-8"
    data = json.loads(job.job().output or "")["data"]
    assert (data["nul"], data["half"], data["nan"], data["huge"]) == ("a\ufffdb", "a?b", "nan", "-inf")
    job.finish()


def call_a_long_tool(_state: State) -> None:
    tool = StructuredTool.from_function(
        lambda length: ["x" * length, HALF], name="long/tool", description="Long."
    )
    tool.invoke({"length": len(LONG)})
    tool.invoke({"length": 5})


def test_a_tools_whole_output_is_a_file_where_its_event_has_only_the_beginning(job: AuthoredJob) -> None:
    def fail_once(_state: State) -> None:
        if job_context().attempt == 1:
            raise RuntimeError

    job.accept(graph(call_a_long_tool, call_a_long_tool, fail_once), with_artifacts=True)
    assert job.attempt().status is Status.FAILURE
    job.resume()
    assert job.attempt().status is Status.SUCCESS
    (kept,) = job.artifacts()
    assert json.loads(job.files.path(kept.sha256).read_text()) == [LONG, "?"]
    assert (kept.title, kept.media_type) == ("The whole output of long/tool", "application/json")
    long, short = job.told("tool.end")[:2]
    assert long["file_path"] == kept.file_path
    assert long["output"].endswith("characters in all)")
    assert short == {"output": ["xxxxx", "?"]}
    assert job.told("artifact.warning") == []
    (told,) = job.told("artifact.update")
    assert told["file_path"] == kept.file_path


@pytest.mark.parametrize("start", ["<!DOCTYPE html>", " <svg>", "%PDF-1.7", "RIFF1234WEBP", "\ufeff<html>"])
def test_a_whole_output_that_no_file_of_text_may_be_is_one_of_json(job: AuthoredJob, start: str) -> None:
    page = start + LONG

    def read(_state: State) -> None:
        StructuredTool.from_function(lambda: page, name="read", description="Reads a page.").invoke({})

    job.accept(graph(read), with_artifacts=True)
    assert job.attempt().status is Status.SUCCESS
    (kept,) = job.artifacts()
    assert json.loads(job.files.path(kept.sha256).read_text()) == page
    assert job.told("tool.end")[0]["file_path"] == kept.file_path
    assert job.told("artifact.warning") == []


def test_without_artifacts_a_tools_long_output_is_cut_and_costs_no_file(job: AuthoredJob) -> None:
    job.accept(graph(call_a_long_tool))
    assert job.attempt().status is Status.SUCCESS
    assert "file_path" not in job.told("tool.end")[0]
