"""The faults of the jobs API's peer, by their numbers in the contract: none may be found here.

Those that need processes killed, a database stopped or the store itself are elsewhere; README.md lists all.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from itertools import islice

from event_frames import Frame
from running_backend import JOBS, wait_until

from .calling import LICENCE, Caller, fresh, seconds

REPLAYED = 10_050


def stored(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.id is not None]


def test_fault_01_04_a_replay_and_the_state_have_no_limit_and_the_report_comes_last(caller: Caller) -> None:
    late = {"name": "late", "artifact_bytes": 10}
    job_id = caller.submit({"name": "talk", "events": REPLAYED}, late, output="the report")
    caller.wait_for(job_id, "success", timeout_s=60)
    frames = caller.events(job_id)
    assert [frame.id for frame in stored(frames)] == list(range(1, len(stored(frames)) + 1))
    assert len(stored(frames)) > REPLAYED
    assert stored(frames)[-1].event == "workflow.end"
    assert frames[-1].data["status"] == "success"
    assert caller.get(job_id, "/report").json()["report"] == "the report"
    state = caller.get(job_id, "/state").json()["artifacts"]
    assert [one["file_path"] for one in state["files"]] == ["late.txt"], "what was told last is in it"


def test_fault_02_ids_that_differ_by_a_hyphen_share_no_event(caller: Caller) -> None:
    name = fresh("x").replace("-", "_")
    pair = [f"{name}-1", f"{name}_1"]
    for job_id in pair:
        caller.submit({"name": "talk", "seconds": 0.5, "events": 5}, job_id=job_id, output=job_id)
    with ThreadPoolExecutor(2) as pool:
        streams = list(pool.map(caller.events, pair))
    for job_id, frames in zip(pair, streams, strict=True):
        assert [frame.id for frame in stored(frames)] == list(range(1, len(stored(frames)) + 1))
        assert stored(frames)[-1].data["data"]["output"] == job_id


def test_fault_03_the_longest_ids_have_all_their_events(caller: Caller) -> None:
    for job_id in (fresh("l" * 51), fresh("l" * 52)[:64]):
        caller.submit({"name": "talk", "events": 5}, job_id=job_id)
        assert sum(frame.event == "job.update" for frame in caller.events(job_id)) >= 5
    long_id = fresh("w" * 240)[:256]
    assert caller.generate(job_id=long_id, sync_timeout=20).status_code == 200
    assert caller.events(long_id)[-1].data["status"] == "success"


def test_fault_04_the_state_keeps_every_tool_apart(caller: Caller) -> None:
    job_id = caller.ask(agent_type="contract_review", input=LICENCE).json()["job_id"]
    frames = caller.events(job_id)
    tools = caller.get(job_id, "/state").json()["artifacts"]["tools"]
    started = [frame for frame in frames if frame.event == "tool.start"]
    assert [(one["id"], one["name"], one["input"]) for one in tools] == [
        (frame.data["id"], frame.data["name"], frame.data["data"]["input"]) for frame in started
    ]
    assert {one["status"] for one in tools} == {"completed"}


def test_fault_05_a_cancel_after_success_erases_nothing_and_starts_nothing(caller: Caller) -> None:
    job_id = caller.submit(output="kept")
    finished = caller.wait_for(job_id, "success")
    assert caller.cancel(job_id).status_code == 400
    assert caller.get(job_id).json() == finished
    assert caller.get(job_id, "/report").json()["report"] == "kept"


def test_fault_06_17_a_cancel_is_seen_whenever_it_comes(caller: Caller) -> None:
    chance = random.Random(6)
    for _ in range(12):
        job_id = caller.submit({"name": "long", "seconds": 30})
        until = time.monotonic() + chance.uniform(0, 0.06)
        wait_until(lambda until=until: time.monotonic() >= until)
        assert caller.cancel(job_id).status_code == 200
        frames = caller.events(job_id)
        assert frames[-1].data["status"] == "interrupted"
        assert stored(frames)[-1].event == "job.cancelled"
        assert "success" not in {frame.data.get("status") for frame in frames}


def test_fault_07_the_terminal_status_comes_at_once_and_last(caller: Caller) -> None:
    job_id = caller.submit({"name": "work", "seconds": 0.3, "events": 3})
    with caller.stream(job_id) as frames:
        seen = list(frames)
        ended_at = time.time()
    assert [frame.event for frame in seen].count("stream.mode") == 2
    assert seen[-1].data == {"status": "success", "outcome": "succeeded"}
    finished_at = datetime.fromisoformat(caller.get(job_id).json()["finished_at"]).timestamp()
    assert ended_at - finished_at < 1.0


def test_fault_08_21_streams_beyond_a_hundred_are_served_and_leave_nothing_behind(caller: Caller) -> None:
    def subscribers() -> int:
        return int(caller.http.get("/v1/ops/overview").json()["streams"]["subscribers"])

    before = subscribers()
    job_id = caller.submit({"name": "long", "seconds": 60})
    caller.wait_for(job_id, "running")
    with ExitStack() as stack:
        streams = [stack.enter_context(caller.stream(job_id)) for _ in range(120)]
        for frames in streams:
            assert next(frames).event == "stream.mode"
        assert seconds(lambda: caller.http.get("/health")) < 1
        assert subscribers() >= before + 120
        caller.cancel(job_id)
        for frames in streams:
            assert list(frames)[-1].data["status"] == "interrupted"
    wait_until(lambda: subscribers() <= before, what="nothing is kept of ended streams")


def test_fault_09_12_reconnects_repeat_nothing_and_begin_where_they_were(caller: Caller) -> None:
    job_id = caller.submit({"name": "talk", "seconds": 1, "events": 40})
    seen: list[int] = []
    finished = False
    while not finished:
        with caller.stream(job_id, seen[-1] if seen else None) as frames:
            finished = True
            for frame in frames:
                if frame.id is not None:
                    seen.append(frame.id)
                    if len(seen) % 9 == 0:
                        finished = False
                        break
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) > 40


def test_fault_10_only_stored_events_have_ids(caller: Caller) -> None:
    job_id = caller.submit({"name": "talk", "seconds": 0.5, "events": 5})
    for after in (None, 3):
        for frame in caller.events(job_id, after):
            assert (frame.id is None) is (frame.event in {"stream.mode", "job.status"})


def test_fault_13_a_live_stream_is_told_of_the_cancel(caller: Caller) -> None:
    job_id = caller.submit({"name": "long", "seconds": 60})
    caller.wait_for(job_id, "running")
    with caller.stream(job_id) as frames:
        next(frame for frame in frames if frame.event == "job.status")
        caller.cancel(job_id)
        rest = [frame.event for frame in frames]
    assert rest[-3:] == ["job.cancellation_requested", "job.cancelled", "job.status"]


def test_fault_14_what_is_no_json_or_no_text_stops_nothing(caller: Caller) -> None:
    job_id = fresh()
    odd = '{"stages": [{"name": "odd", "events": 2}], "output": ["\\ud800", NaN, 1e999, "\\u0000"]}'
    assert caller.ask(job_id=job_id, input=odd).status_code == 202
    assert caller.events(job_id)[-1].data["status"] == "success"
    assert caller.generated(job_id).json()["output"]["value"][1] == "nan"


def test_fault_16_a_job_that_blocks_its_worker_is_not_taken_for_dead(caller: Caller) -> None:
    job_id = caller.submit({"name": "blocking", "seconds": 1.5, "block_loop": True}, {"name": "next"})
    assert caller.wait_for(job_id)["attempt"] == 1
    assert caller.get(job_id).json()["status"] == "success"


def test_fault_18_nothing_of_an_unfinished_job_has_a_time_to_go(caller: Caller) -> None:
    job_id = caller.submit({"name": "long", "seconds": 60, "events": 30}, expiry_seconds=600)
    caller.wait_for(job_id, "running")
    assert caller.generated(job_id).json()["expires_at"] is None
    with caller.stream(job_id) as frames:
        assert [frame.id for frame in islice((one for one in frames if one.id), 3)] == [1, 2, 3]
    caller.cancel(job_id)


def test_fault_20_the_server_answers_while_it_is_flooded(caller: Caller) -> None:
    held = caller.submit({"name": "long", "seconds": 60})
    over = threading.Event()

    def flood() -> None:
        with Caller(str(caller.http.base_url)) as own:
            while not over.is_set():
                assert own.ask(after=[held]).status_code == 202

    with ThreadPoolExecutor(4) as pool:
        floods = [pool.submit(flood) for _ in range(4)]
        took = [seconds(lambda: caller.http.get("/health")) for _ in range(10)]
        over.set()
        for one in floods:
            one.result()
    caller.http.post(f"{JOBS}/job/{held}/cancel")
    assert max(took) < 1.0
