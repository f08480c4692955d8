"""The jobs API's frames: each type of the contract's table in its shape, and their order."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from event_frames import Frame
from running_backend import JOBS

from .calling import LICENCE, Caller

CONTROL = {"stream.mode", "job.status", "job.shutdown"}
FLAT = {"job.error", "job.heartbeat", "job.cancellation_requested", "job.cancelled", "artifact.warning"}


def has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda mapping: set(keys) <= set(mapping)


SHAPES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "stream.mode": lambda one: one["mode"] in {"polling", "live", "pubsub"},
    "job.status": lambda one: one["status"] in {"submitted", "running", "success", "failure", "interrupted"},
    "job.error": lambda one: has("error", "error_type")(one["data"]),
    "job.heartbeat": lambda one: isinstance(one["data"]["uptime_seconds"], int),
    "job.cancellation_requested": lambda one: "cancelled by user" in one["data"]["reason"],
    "job.cancelled": lambda one: "cancelled by user" in one["data"]["reason"],
    "job.update": lambda one: isinstance(one["name"], str) and isinstance(one["data"]["output"], str),
    "workflow.start": lambda one: has("workflow")(one["metadata"]),
    "workflow.end": lambda one: has("workflow")(one["metadata"]),
    "llm.start": lambda one: bool({"message_count", "prompt_count"} & set(one["metadata"])),
    "llm.chunk": lambda one: bool(one["data"]["chunk"]),
    "llm.end": lambda one: has("workflow", "agent_id")(one["metadata"]),
    "tool.start": lambda one: isinstance(one["data"]["input"], dict),
    "tool.end": lambda one: "output" in one["data"],
    "artifact.update": lambda one: has(*ARTIFACTS[one["data"]["type"]])(one["data"]),
}
ARTIFACTS = {
    "citation_source": ("content", "url", "tool"),
    "citation_use": ("content", "url"),
    "output": ("content", "output_category"),
    "todo": ("content", "source"),
    "file": (
        "content_url",
        "file_path",
        "artifact_id",
        "kind",
        "mime_type",
        "size_bytes",
        "sha256",
        "inline",
    ),
}


def check(frame: Frame) -> None:
    """One frame against the table."""
    assert frame.event in SHAPES, frame
    assert SHAPES[frame.event](frame.data), frame
    assert "type" not in frame.data, "the payload is the stored object without its type"
    if frame.event in CONTROL:
        assert frame.id is None, "a control frame never has an id"
        return
    assert frame.id is not None
    if frame.event in FLAT:
        return
    UUID(frame.data["id"])
    assert frame.data["timestamp"].endswith("+00:00")
    datetime.fromisoformat(frame.data["timestamp"])


@pytest.fixture(scope="module")
def review(caller: Caller) -> list[Frame]:
    job_id = caller.ask(agent_type="contract_review", input=LICENCE).json()["job_id"]
    return caller.events(job_id)


def test_a_whole_review_is_in_the_contracts_shapes_and_has_all_its_types(review: list[Frame]) -> None:
    for frame in review:
        check(frame)
    kinds = {frame.event for frame in review}
    assert kinds >= {"workflow.start", "workflow.end", "llm.start", "llm.chunk", "llm.end"}
    assert kinds >= {"tool.start", "tool.end", "artifact.update", "stream.mode", "job.status"}
    assert {frame.data["data"]["type"] for frame in review if frame.event == "artifact.update"} == set(
        ARTIFACTS
    )


def test_the_order_is_mode_replay_mode_status_events_and_the_terminal_status_last(
    review: list[Frame],
) -> None:
    assert (review[0].event, review[0].data["mode"]) == ("stream.mode", "polling")
    modes = [place for place, frame in enumerate(review) if frame.event == "stream.mode"]
    statuses = [place for place, frame in enumerate(review) if frame.event == "job.status"]
    assert len(modes) == 2
    assert modes[1] < statuses[0]
    ids = [frame.id for frame in review if frame.id is not None]
    assert ids == list(range(1, len(ids) + 1))
    assert (review[-1].event, review[-1].data["status"]) == ("job.status", "success")
    assert [review[place].data["status"] for place in statuses].count("success") == 1


def test_start_and_end_of_a_call_share_an_id_that_its_chunks_carry(review: list[Frame]) -> None:
    for kind in ("llm", "tool"):
        started = [frame.data["id"] for frame in review if frame.event == f"{kind}.start"]
        ended = [frame.data["id"] for frame in review if frame.event == f"{kind}.end"]
        assert sorted(started) == sorted(ended)
        assert len(set(started)) == len(started) > 0
    calls = {frame.data["id"] for frame in review if frame.event == "llm.start"}
    assert {frame.data["id"] for frame in review if frame.event == "llm.chunk"} <= calls
    usages = [frame.data["metadata"]["usage"] for frame in review if frame.event == "llm.end"]
    assert all(set(usage) == {"input_tokens", "output_tokens", "total_tokens"} for usage in usages)


def test_the_final_report_comes_once_and_before_the_terminal_status(review: list[Frame]) -> None:
    outputs = [
        frame
        for frame in review
        if frame.event == "artifact.update" and frame.data["data"]["type"] == "output"
    ]
    categories = [frame.data["data"]["output_category"] for frame in outputs]
    assert categories.count("final_report") == 1
    assert set(categories) <= {"research_notes", "draft", "intermediate", "final_report"}


def test_a_failure_is_told_by_a_stored_error_and_then_by_the_status(caller: Caller) -> None:
    frames = caller.events(caller.submit({"name": "bad", "fail": True}))
    for frame in frames:
        check(frame)
    error = next(frame for frame in frames if frame.event == "job.error")
    assert error.data["data"]["error_type"] == "ProbeFailure"
    assert frames[-1].data["status"] == "failure"
    assert error.data["data"]["error"] == frames[-1].data["error"]


def test_on_the_wire_a_frame_has_one_data_line_and_the_contracts_headers(caller: Caller) -> None:
    job_id = caller.submit({"name": "odd", "events": 2}, output="a\r\nb\u2028c")
    caller.wait_for(job_id)
    answer = caller.http.get(f"{JOBS}/job/{job_id}/stream")
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    frames = answer.content.decode().split("\n\n")
    assert frames.pop() == ""
    for frame in frames:
        shape = re.fullmatch(r"(?:id: \d+\n)?event: ([a-z._]+)\ndata: ([^\n\r]*)", frame)
        assert shape, frame
        assert frame.startswith("id:") is (shape[1] not in CONTROL)
        json.loads(shape[2])
