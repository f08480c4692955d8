"""Users' own graphs by ``langgraph.json`` and installed packages: run, listed, told of when broken."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from running_backend import JOBS, RunningBackend
from starting_backends import one_backend

EXAMPLE = Path(__file__).parents[2] / "examples" / "ticket_triage"

GRAPHS = """
import asyncio
from typing import Annotated, TypedDict
from langchain_core.messages import AnyMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from neighbour import SHOUT
from pydantic import BaseModel

class Question(TypedDict):
    question: str
    times: int

class Answer(TypedDict):
    answer: str

class Whole(Question, Answer):
    pass

def shout(state):
    return {"answer": (state["question"] + SHOUT) * state["times"]}

def whole():
    graph = StateGraph(Whole, input_schema=Question, output_schema=Answer)
    graph.add_node("shout", shout)
    graph.add_edge(START, "shout")
    return graph

compiled = whole().compile()

def factory(config):
    return whole()

async def async_factory():
    await asyncio.sleep(0)
    return whole().compile()

class Talk(TypedDict):
    messages: Annotated[list, add_messages]

async def reply(state):
    await asyncio.sleep(0)
    return {"messages": [("assistant", "you said " + state["messages"][-1].text)]}

talk = StateGraph(Talk)
talk.add_node("reply", reply)
talk.add_edge(START, "reply")
number = 7

class Chat(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]

chat, langgraphs_own = StateGraph(Chat), StateGraph(MessagesState)
for one in (chat, langgraphs_own):
    one.add_node("reply", lambda state: {})
    one.add_edge(START, "reply")

def leave(state):
    from jobdeck_backend.workflows.context import job_context
    (job_context().artifacts.directory / "note.txt").write_text("kept")
    return {"answer": "left"}

leaver = StateGraph(Whole, input_schema=Question, output_schema=Answer)
leaver.add_node("leave", leave)
leaver.add_edge(START, "leave")
"""
FORKS = """
import os, pathlib, time
if (pid := os.fork()) == 0:
    time.sleep(600)
pathlib.Path(__file__).with_name("left").open("a").write(f"{pid} ")
from graphs import compiled
"""
LISTED = {
    "compiled": "./graphs.py:compiled",
    "factory": "./graphs.py:factory",
    "async_factory": "./graphs.py:async_factory",
    "talk": "./graphs.py:talk",
    "chat": "./graphs.py:chat",
    "langgraphs_own": "./graphs.py:langgraphs_own",
    "unnamed": "./graphs.py:absent",
    "number": "./graphs.py:number",
    "raises": "./raises.py:graph",
    "exits": "./exits.py:graph",
    "nowhere": "./nowhere.py:graph",
    "leaves_a_process": "./forks.py:compiled",
    "probe": "./graphs.py:compiled",
    "bad name": "./graphs.py:compiled",
    "shapeless": 3,
    "leaver": {"path": "./graphs.py:leaver", "artifacts": True},
    "undecided": {"path": "./graphs.py:leaver", "artifacts": "yes"},
}


@pytest.fixture(scope="module")
def backend(tmp_path_factory) -> Iterator[RunningBackend]:
    directory = tmp_path_factory.mktemp("authored")
    (directory / "graphs.py").write_text(GRAPHS)
    (directory / "neighbour.py").write_text('SHOUT = "!"\n')
    (directory / "raises.py").write_text("import nothing_of_that_name\n")
    (directory / "exits.py").write_text("import os\nos._exit(3)\n")
    (directory / "forks.py").write_text(FORKS)
    (directory / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": LISTED}))
    installed = directory / "installed"
    (installed / "theirs-1.0.dist-info").mkdir(parents=True)
    (installed / "theirs-1.0.dist-info" / "METADATA").write_text("Name: theirs\nVersion: 1.0\n")
    (installed / "theirs-1.0.dist-info" / "entry_points.txt").write_text(
        "[jobdeck.workflows]\nfrom_package = graphs:compiled\n"
    )
    for name in ("graphs.py", "neighbour.py"):
        shutil.copy(directory / name, installed / name)
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    with one_backend(directory, "--workflows", str(directory / "langgraph.json"), PYTHONPATH=path) as running:
        yield running


@pytest.mark.parametrize("name", ["compiled", "factory", "async_factory", "from_package"])
def test_graphs_and_factories_run_on_a_json_object_of_their_schema(backend, name) -> None:
    job_id = backend.submit_text('{"question": "why", "times": 2}', agent_type=name)
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert backend.http.get(f"{JOBS}/job/{job_id}/report").json()["report"] == "why!why!"
    assert [run.node for run in backend.stages(job_id)] == ["shout"]


def test_a_graph_of_messages_takes_text(backend) -> None:
    job_id = backend.submit_text("hello", agent_type="talk")
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert backend.http.get(f"{JOBS}/job/{job_id}/report").json()["report"] == "you said hello"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("why", "needs times"),
        ('{"question": "why"}', "needs times"),
        ('{"question": "why", "times": "two"}', "times is to be of type integer"),
        ('{"question": "why", "times": 2, "loudness": 3}', "does not know loudness"),
        (
            json.dumps({"times": 2} | dict.fromkeys(map(str, range(9_000)))),
            "does not know 0, 1, 10, 100, 1000 and 8,995 others",
        ),
        (
            json.dumps({"question": "why", **dict.fromkeys("abcdef")}),
            "does not know a, b, c, d, e and 1 other;",
        ),
        ("[" * 100_000, "needs times"),
    ],
    ids=lambda one: one[:40],
)
def test_input_that_does_not_fit_the_schema_is_refused_with_what_it_takes(backend, text, says) -> None:
    answer = backend.http.post(f"{JOBS}/submit", json={"agent_type": "compiled", "input": text})
    assert answer.status_code == 422
    assert says in answer.text
    assert len(answer.text) < 500


def test_schemas_and_stages_are_listed(backend) -> None:
    views = {one["name"]: one for one in backend.http.get("/v1/ops/workflows").json()["workflows"]}
    assert {"compiled", "factory", "async_factory", "talk", "from_package", "contract_review"} <= views.keys()
    assert views["compiled"]["input_schema"]["properties"].keys() == {"question", "times"}
    assert views["compiled"]["output_schema"]["properties"].keys() == {"answer"}
    assert views["compiled"]["stages"] == ["shout"]
    assert views["from_package"]["origin"] == "package theirs"
    for name in ("talk", "chat", "langgraphs_own"):
        assert len(json.dumps([views[name]["input_schema"], views[name]["output_schema"]])) < 1000, name
    agents = {one["agent_type"]: one for one in backend.http.get(f"{JOBS}/agents").json()["agents"]}
    assert agents["compiled"]["input_schema"] == views["compiled"]["input_schema"]


def test_a_workflow_that_says_so_leaves_files_behind_and_is_shown_to(backend) -> None:
    views = {one["name"]: one for one in backend.http.get("/v1/ops/workflows").json()["workflows"]}
    shown = {
        name: views[name]["artifacts"] for name in ("leaver", "compiled", "from_package", "contract_review")
    }
    assert shown == {"leaver": True, "compiled": False, "from_package": False, "contract_review": True}
    job_id = backend.submit_text('{"question": "why", "times": 2}', agent_type="leaver")
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    (left,) = backend.http.get(f"{JOBS}/job/{job_id}/artifacts").json()["artifacts"]
    assert left["filename"] == "note.txt"
    assert backend.http.get(left["content_url"]).text == "kept"


def test_the_forecast_tells_of_them_and_a_strict_one_can_be_asked_about(backend) -> None:
    forecast = backend.http.get("/v1/ops/forecast", params={"agent_type": "talk"}).json()
    assert {one["workflow"] for one in forecast["workflows"]} >= {"talk", "from_package", "contract_review"}
    assert forecast["asked"]["workflow"] == "talk"
    refused = backend.http.get("/v1/ops/forecast", params={"agent_type": "raises"})
    assert refused.status_code == 400
    assert "nothing_of_that_name" in refused.text


def test_broken_ones_are_told_at_start_and_when_they_are_asked_for(backend) -> None:
    broken = {one["name"]: one["problem"] for one in backend.http.get("/v1/ops/workflows").json()["broken"]}
    says = {
        "unnamed": "has no absent",
        "number": "is a int, and no graph",
        "raises": "nothing_of_that_name",
        "exits": "ended the process (3)",
        "nowhere": "there is no file",
        "probe": "a built-in workflow has that name",
        "bad name": "letters, digits",
        "shapeless": "./file.py:graph",
        "undecided": "true, or false",
    }
    assert broken.keys() == says.keys()
    told = backend.log.read_text()
    for name, words in says.items():
        assert words in broken[name]
        assert f"workflow {name} (" in told
    answer = backend.http.post(f"{JOBS}/submit", json={"agent_type": "raises", "input": "x"})
    assert answer.status_code == 400
    assert "nothing_of_that_name" in answer.text
    assert backend.wait_for(backend.submit({"name": "only"}))["outcome"] == "succeeded", "the built-in one"


def test_a_process_that_an_import_leaves_behind_holds_up_no_start_and_ends(backend) -> None:
    listed = {one["name"] for one in backend.http.get("/v1/ops/workflows").json()["workflows"]}
    assert "leaves_a_process" in listed
    (left,) = (backend.state_dir.parent / "left").read_text().split()
    with suppress(psutil.NoSuchProcess):
        assert psutil.Process(int(left)).status() == psutil.STATUS_ZOMBIE


def test_the_example_runs_as_its_readme_says(start_backend, tmp_path) -> None:
    outbox = tmp_path / "outbox.jsonl"
    backend = start_backend("--workflows", str(EXAMPLE / "langgraph.json"), TRIAGE_OUTBOX=str(outbox))
    job_id = backend.submit_text("The shop is down!", agent_type="ticket_triage", deadline_seconds=60)
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    output = json.loads(backend.record(job_id).output or "")
    assert output["data"]["urgency"] == "urgent"
    assert output["report"] == output["data"]["answer"]
    (sent,) = map(json.loads, outbox.read_text().splitlines())
    assert sent == {"key": output["data"]["sent_as"], "answer": output["report"]}
    assert [one["state"] for one in backend.effects(job_id)] == ["confirmed"]
    assert "tool.start" in {frame.event for frame in backend.events(job_id)}
    (left,) = backend.http.get(f"{JOBS}/job/{job_id}/artifacts").json()["artifacts"]
    assert (left["filename"], left["title"]) == ("answer.md", "The answer as it was sent")
    assert output["report"] in backend.http.get(left["content_url"]).text

    hurried = backend.submit_text("Hello", agent_type="ticket_triage", deadline_seconds=4)
    assert backend.wait_for(hurried)["outcome"] == "succeeded"
    assert "We have received your ticket" in json.loads(backend.record(hurried).output or "")["report"]
