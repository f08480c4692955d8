import asyncio
import json
import time

import pytest
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.workflows.registry import find
from workflow_execution import Execution, ListRecorder


def journal(directory):
    lines = (directory / "probe-journal.jsonl").read_text().splitlines()
    return [(line["event"], line["stage"]) for line in map(json.loads, lines)]


def request(*stages, **more):
    return json.dumps({"stages": list(stages), **more})


def test_a_probe_without_stages_does_nothing_and_succeeds(tmp_path):
    execution = Execution("probe", "{}", tmp_path)
    result = execution.run()
    assert result.data == {"completed": []}
    assert execution.recorder.events == []
    assert execution.workflow.stages_total("{}") == 0


def test_each_stage_is_a_node_with_its_evidence_and_its_journal_lines(tmp_path):
    execution = Execution(
        "probe", request({"name": "one"}, {"name": "two", "sync": True}, output="done"), tmp_path
    )
    assert execution.run().report == "done"
    assert [stage[:3] for stage in execution.recorder.stages] == [
        ("started", "one", 1),
        ("completed", "one", 1),
        ("started", "two", 2),
        ("completed", "two", 2),
    ]
    assert all(len(stage[3]) == 64 for stage in execution.recorder.stages if stage[0] == "completed")
    assert journal(tmp_path) == [
        ("stage_started", "one"),
        ("stage_completed", "one"),
        ("stage_started", "two"),
        ("stage_completed", "two"),
    ]
    starts = [event["metadata"]["stage"] for event in execution.recorder.of("workflow.start")]
    assert starts == [{"node": "one", "step": 1}, {"node": "two", "step": 2}]


@pytest.mark.parametrize("sync", [False, True])
def test_events_and_tokens_are_told_as_they_happen(tmp_path, sync):
    stage = {"name": "talk", "events": 2, "tokens": 5, "sync": sync}
    execution = Execution("probe", request(stage), tmp_path)
    execution.run()
    recorder = execution.recorder
    assert [event["name"] for event in recorder.of("job.update")] == ["log", "log"]
    text = "".join(event["data"]["chunk"] for event in recorder.of("llm.chunk"))
    assert text == "word-1 word-2 word-3 word-4 word-5"
    ids = {event["id"] for event in recorder.events if event["type"].startswith("llm.")}
    assert len(ids) == 1
    assert recorder.of("llm.start")[0]["metadata"]["message_count"] == 1
    assert recorder.of("llm.end")[0]["metadata"]["usage"]["output_tokens"] == 5


@pytest.mark.parametrize("sync", [False, True])
def test_a_recorder_that_says_stop_stops_a_stage_before_it_runs(tmp_path, sync):
    stages = [{"name": "one", "sync": sync}, {"name": "two", "sync": sync}]
    execution = Execution("probe", request(*stages), tmp_path, recorder=ListRecorder(stop_at="two"))
    with pytest.raises(JobStopped):
        execution.run()
    assert journal(tmp_path) == [("stage_started", "one"), ("stage_completed", "one")]
    execution.recorder.stop_at = None
    execution.run()
    assert execution.recorder.completed == ["one", "two"], "the finished stage did not run again"


def test_a_failing_stage_ends_with_its_error_told(tmp_path):
    execution = Execution("probe", request({"name": "bad", "fail": True}), tmp_path)
    with pytest.raises(Exception, match="stage 'bad' was asked to fail"):
        execution.run()
    (end,) = execution.recorder.of("workflow.end")
    assert end["metadata"]["error"].startswith("ProbeFailure: ")
    assert execution.recorder.completed == []


def test_a_cancelled_async_stage_ends_at_once_and_tells_no_failure(tmp_path):
    execution = Execution("probe", request({"name": "long", "seconds": 600}), tmp_path)

    async def cancel_when_started():
        run = asyncio.create_task(execution.go())
        await asyncio.to_thread(execution.recorder.seen.wait, 30)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancel_when_started())
    assert execution.recorder.of("workflow.end") == []


def test_a_waiting_sync_stage_leaves_when_the_job_is_cancelled(tmp_path):
    execution = Execution("probe", request({"name": "long", "seconds": 600, "sync": True}), tmp_path)
    execution.context.cancelled.set()
    with pytest.raises(JobStopped):
        execution.run()


def test_a_stage_that_ignores_its_cancel_goes_on_to_its_end(tmp_path):
    stage = {"name": "deaf", "seconds": 0.05, "ignore_cancel": True}
    execution = Execution("probe", request(stage), tmp_path)
    execution.context.cancelled.set()
    execution.run()
    assert journal(tmp_path)[-1] == ("stage_completed", "deaf")


def test_block_loop_holds_the_event_loop(tmp_path):
    execution = Execution("probe", request({"name": "block", "seconds": 0.3, "block_loop": True}), tmp_path)

    async def longest_gap():
        run, gap, before = asyncio.create_task(execution.go()), 0.0, time.monotonic()
        while not run.done():
            await asyncio.sleep(0)
            gap, before = max(gap, time.monotonic() - before), time.monotonic()
        return gap

    assert asyncio.run(longest_gap()) >= 0.3


def test_any_json_can_be_the_output(tmp_path):
    text = '{"stages": [{"name": "a"}], "output": {"huge": 1%s, "half": "\\ud800", "inf": 1e999}}' % (
        "0" * 40
    )
    data = Execution("probe", text, tmp_path).run().data
    assert data == {"huge": "1" + "0" * 40, "half": "?", "inf": "inf"}


def test_one_graph_serves_all_inputs_of_one_shape():
    module = find("probe").load()
    first, same = request({"name": "a", "seconds": 1}), request({"name": "a", "seconds": 2})
    assert module.builder(first) is module.builder(same)
    assert module.builder(first) is not module.builder(request({"name": "a", "sync": True}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "must be a JSON object"),
        ("[" * 5000, "must be a JSON object"),
        ("[]", "must be a JSON object"),
        ('{"stage":[]}', "does not know 'stage'"),
        ('{"stages":{}}', None),
        ('{"stages":3}', "must be a list"),
        ('{"stages":[{}]}', "object with a name"),
        ('{"stages":[{"name":"a:b"}]}', "letters, digits"),
        ('{"stages":[{"name":"__start__"}]}', "letters, digits"),
        ('{"stages":[{"name":"a"},{"name":"a"}]}', "name of its own"),
        ('{"stages":[{"name":"a","seconds":-1}]}', "number from 0"),
        ('{"stages":[{"name":"a","seconds":NaN}]}', "number from 0"),
        ('{"stages":[{"name":"a","seconds":true}]}', "number from 0"),
        ('{"stages":[{"name":"a","events":1.5}]}', "whole number"),
        ('{"stages":[{"name":"a","fail":1}]}', "true or false"),
        ('{"stages":[{"name":"a","sleep":1}]}', "does not know 'sleep'"),
        ('{"stages":[{"name":"a","effect":{"key":"pay","repeatable":true,"hang":true}}]}', None),
        ('{"stages":[{"name":"a","effect":{"key":"pay","policy":"probe"}}]}', None),
        ('{"stages":[{"name":"a","effect":"pay"}]}', "effect must be an object with a key"),
        ('{"stages":[{"name":"a","effect":{}}]}', "effect must be an object with a key"),
        ('{"stages":[{"name":"a","effect":{"key":"a/b"}}]}', "letters, digits"),
        ('{"stages":[{"name":"a","effect":{"key":"pay","hang":1}}]}', "true or false"),
        ('{"stages":[{"name":"a","effect":{"key":"pay","policy":"twice"}}]}', "a policy of repeatable,"),
        ('{"stages":[{"name":"a","effect":{"key":"pay","twice":true}}]}', "does not know 'twice'"),
        ('{"stages":[{"name":"a","artifact_bytes":200000000}]}', "artifact_bytes must be a number from 0"),
    ],
)
def test_an_input_the_probe_cannot_run_is_refused_with_a_sentence(text, message):
    if message is None:
        find("probe").check_input(text)
    else:
        with pytest.raises(ValueError, match=message):
            find("probe").check_input(text)
