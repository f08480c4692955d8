"""The deadline covers the wait, the run and every retry (R7–R10)."""

from running_backend import RunningBackend, wait_until


def test_r8_a_job_overdue_in_the_queue_never_starts_and_says_so(backend: RunningBackend) -> None:
    busy = [backend.submit({"name": "busy", "seconds": 1.5}) for _ in range(2)]
    for job_id in busy:
        backend.wait_for_stage(job_id, "busy")
    late = backend.submit({"name": "never"}, deadline_seconds=0.4)
    frames = backend.events(late)
    assert frames[-1].data == {
        "status": "interrupted",
        "error": "expired: deadline passed while queued",
        "outcome": "expired",
    }
    assert [frame.data["name"] for frame in frames if frame.event == "job.update"] == ["submitted", "expired"]
    for job_id in busy:
        assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert backend.journal(late) == []
    assert backend.attempts(late) == []
    assert backend.job(late)["outcome"] == "expired"


def test_r9_a_running_job_is_expired_at_its_deadline(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "seconds": 60}, {"name": "never"}, deadline_seconds=1.0)
    job = backend.wait_for(job_id)
    assert (job["status"], job["outcome"]) == ("interrupted", "expired")
    assert job["error"] == "expired: deadline passed while running"
    admission_deadline = backend.record(job_id).dispatch_deadline
    (attempt,) = backend.attempts(job_id)
    wait_until(lambda: backend.attempts(job_id)[0].ended_at)
    assert admission_deadline is not None
    assert attempt.started_at < admission_deadline
    assert backend.journal_stages(job_id, "stage_started") == ["long"]
    assert backend.journal_stages(job_id) == []


def test_r8_i9_no_stage_starts_past_the_deadline(backend: RunningBackend) -> None:
    stages = [{"name": f"s{number}", "seconds": 0.25} for number in range(20)]
    job_id = backend.submit(*stages, deadline_seconds=1.2)
    assert backend.wait_for(job_id)["outcome"] == "expired"
    done = backend.journal_stages(job_id)
    assert 1 <= len(done) <= 5
    assert len(backend.journal_stages(job_id, "stage_started")) - len(done) in (0, 1)


def test_r9_a_blocking_node_is_expired_all_the_same_and_its_slot_shown_taken(backend: RunningBackend) -> None:
    job_id = backend.submit(
        {"name": "deaf", "seconds": 3, "ignore_cancel": True}, {"name": "never"}, deadline_seconds=0.8
    )
    job = backend.wait_for(job_id)
    assert job["outcome"] == "expired"
    (attempt,) = backend.attempts(job_id)
    assert attempt.ended_at is None, "the thread sleeps on: its slot is taken"
    ended = wait_until(lambda: backend.attempts(job_id)[0].ended_at, what="the thread's end is on record")
    assert ended - attempt.started_at >= 2.9
    assert backend.attempts(job_id)[0].end_reason == "expired"
    assert backend.record(job_id).status == "interrupted"
    assert backend.journal_stages(job_id, "stage_started") == ["deaf"]


def test_r9_a_node_that_blocks_the_loop_is_expired_by_the_heart(backend: RunningBackend) -> None:
    job_id = backend.submit(
        {"name": "stuck", "seconds": 4, "block_loop": True}, {"name": "never"}, deadline_seconds=0.8
    )
    job = backend.wait_for(job_id)
    assert job["outcome"] == "expired"
    assert job["error"] == "expired: deadline passed while running"
    assert backend.attempts(job_id)[0].ended_at is None
    wait_until(lambda: backend.attempts(job_id)[0].ended_at, what="the thread's end is on record")
    assert backend.journal_stages(job_id, "stage_started") == ["stuck"]
    assert backend.transitions(job_id) == ["submitted", "started", "expired"]


def test_r10_i10_a_deadline_kept_leaves_no_trace_of_one_missed(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "quick"}, deadline_seconds=30)
    job = backend.wait_for(job_id)
    assert (job["outcome"], job["error"]) == ("succeeded", None)
