"""A job from submit to its end, seen through its stream."""

from running_backend import RunningBackend, wait_until


def test_r26_r27_a_stream_tells_all_of_a_job_in_order_and_its_terminal_status_last(
    backend: RunningBackend,
) -> None:
    job_id = backend.submit(
        {"name": "one", "seconds": 0.05, "events": 3}, {"name": "two", "tokens": 5}, output="the end"
    )
    frames = backend.events(job_id)
    stored = [frame for frame in frames if frame.id is not None]
    assert [frame.id for frame in stored] == list(range(1, len(stored) + 1))
    types = [frame.event for frame in stored]
    assert types[:2] == ["job.update", "workflow.start"]
    assert types[-1] == "workflow.end"
    assert types.count("llm.chunk") == 5
    logs = [frame.data["data"]["output"] for frame in stored if frame.data.get("name") == "log"]
    assert logs == [f"one: event {number} of 3" for number in (1, 2, 3)]
    assert [frame.event for frame in frames if frame.id is None][:2] == ["stream.mode", "stream.mode"]
    assert frames[-1].event == "job.status"
    assert frames[-1].data["status"] == "success"
    statuses = [frame.data["status"] for frame in frames if frame.event == "job.status"]
    assert statuses in (["submitted", "running", "success"], ["running", "success"])


def test_r20_r22_i6_stages_are_on_record_once_each_with_the_checkpoint_that_proves_them(
    backend: RunningBackend,
) -> None:
    names = ["read", "think", "write"]
    job_id = backend.submit(*({"name": name} for name in names))
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert backend.journal_stages(job_id) == names
    runs = [run for run in backend.stages(job_id) if run.node in names]
    assert [run.node for run in runs] == names
    assert len({run.checkpoint_id for run in runs}) == 3
    assert all(run.output_hash and run.pid != backend.pid for run in runs)


def test_a_job_without_stages_succeeds(backend: RunningBackend) -> None:
    job_id = backend.submit(output={"answer": 42})
    job = backend.wait_for(job_id)
    assert (job["outcome"], job["attempt"]) == ("succeeded", 1)
    assert backend.http.get(f"/v1/jobs/async/job/{job_id}/report").json()["has_report"] is False


def test_a_failing_stage_fails_the_job_with_its_reason_in_the_stream(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "good"}, {"name": "bad", "fail": True}, {"name": "never"})
    frames = backend.events(job_id)
    errors = [frame.data["data"] for frame in frames if frame.event == "job.error"]
    assert [error["error_type"] for error in errors] == ["ProbeFailure"]
    assert "asked to fail" in errors[0]["error"]
    assert frames[-1].data["status"] == "failure"
    assert backend.journal_stages(job_id, "stage_started") == ["good", "bad"]


def test_r21_one_live_job_a_thread_and_the_next_turn_runs_afresh(backend: RunningBackend) -> None:
    """R20: the first turn's checkpoint is not taken for the second's."""
    first = backend.submit({"name": "talk", "seconds": 0.3}, thread_id="session-1")
    refused = backend.http.post(
        "/v1/jobs/async/submit", json={"agent_type": "probe", "input": "{}", "thread_id": "session-1"}
    )
    assert refused.status_code == 409
    assert "unfinished" in refused.json()["detail"]
    assert backend.wait_for(first)["outcome"] == "succeeded"
    second = backend.submit({"name": "talk"}, {"name": "more"}, thread_id="session-1")
    assert backend.wait_for(second)["outcome"] == "succeeded"
    assert backend.journal_stages(first) == ["talk"]
    assert backend.journal_stages(second) == ["talk", "more"]


def test_r14_i13_a_burst_of_jobs_is_started_once_each_and_never_fills_more_than_the_slots(
    backend: RunningBackend,
) -> None:
    job_ids = [backend.submit({"name": "only"}) for _ in range(40)]
    for job_id in job_ids:
        assert backend.wait_for(job_id)["outcome"] == "succeeded"
        assert backend.journal_stages(job_id) == ["only"]
        assert backend.transitions(job_id) == ["submitted", "started", "succeeded"]
    wait_until(lambda: not any(a.ended_at is None for job_id in job_ids for a in backend.attempts(job_id)))
    attempts = [one for job_id in job_ids for one in backend.attempts(job_id)]
    for one in attempts:
        beside = [other for other in attempts if other.started_at <= one.started_at < other.ended_at]
        assert len(beside) <= 2
        assert len({other.pid for other in beside}) == len(beside), "one slot a worker"
