"""What failed is at hand: by kind, with its traceback; and what came too late is shown, not used."""

import json
import os
import signal
from datetime import datetime

from jobdeck_backend.api import schemas, worker_schemas
from jobdeck_backend.store import attempts
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend


def failures(backend: RunningBackend) -> list[worker_schemas.FailureKind]:
    answer = backend.http.get("/v1/ops/failures")
    assert answer.status_code == 200, answer.text
    return worker_schemas.Failures.model_validate(answer.json()).failures


def attempts_of(backend: RunningBackend, job_id: str) -> list[schemas.Attempt]:
    detail = backend.http.get(f"/v1/ops/jobs/{job_id}").json()
    return schemas.JobDetail.model_validate(detail).attempts


def test_failures_are_grouped_by_kind_and_stage_with_the_newest_as_example(backend: RunningBackend) -> None:
    bad = {"name": "bad", "fail": True}
    first, second = backend.submit(bad), backend.submit({"name": "good"}, bad)
    other = backend.submit({"name": "worse", "fail": True})
    for job_id in (first, second, other):
        backend.wait_for(job_id, "failure")
    found = {(one.error_type, one.stage): one for one in failures(backend)}
    kind = {stage: name for name, stage in found}["bad"]
    assert found[kind, "bad"].count == 2
    assert found[kind, "worse"].count == 1
    newest = max((first, second), key=lambda job_id: backend.job(job_id)["finished_at"])
    example = found[kind, "bad"].example
    assert example.job_id == newest
    assert example.worker == backend.attempts(newest)[0].worker
    assert example.traceback is not None
    assert example.traceback.startswith("Traceback (most recent call last)")
    assert f"{kind}: stage 'bad'" in example.traceback
    assert attempts_of(backend, newest)[0].traceback == example.traceback
    assert backend.http.get(f"/v1/ops/workers/{example.worker}/log").json()["lines"]
    backend.act(newest, "resume")
    backend.wait_for(newest, "failure")
    assert [one.traceback is not None for one in attempts_of(backend, newest)] == [True, True]


def test_r15_a_late_result_is_shown_beside_the_job_and_cut(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "slow", "seconds": 0.2})
    backend.wait_for(job_id, "success")
    assert attempts_of(backend, job_id)[0].late_result is None
    output = json.dumps({"report": "x" * 10_000, "data": None})
    with backend.database.write() as tx:
        attempts.keep_aside(tx, job_id, 1, late_output=output)
    (only,) = attempts_of(backend, job_id)
    assert only.late_result == output[:4_000]
    assert only.late_result_chars == len(output)


def test_a_secret_in_an_error_reaches_no_record_no_traceback_and_no_log(backend: RunningBackend) -> None:
    secret = "sk-live-0123456789abcdef"
    job_id = backend.submit({"name": secret, "fail": True})
    backend.wait_for(job_id, "failure")
    (attempt,) = attempts_of(backend, job_id)
    assert attempt.traceback is not None
    log = backend.http.get(f"/v1/ops/workers/{attempt.worker}/log").json()["lines"]
    said = [str(backend.job(job_id)["error"]), *attempt.traceback.splitlines(), *log]
    failed = [line for line in said if "was asked to fail" in line and "***" in line]
    assert len(failed) >= 3
    assert all(secret not in line for line in said if "ProbeFailure" in line)


def test_a_queue_paused_during_recovery_gets_its_jobs_back_and_starts_none_until_it_is_resumed(
    start_backend: StartBackend,
) -> None:
    backend = start_backend("--max-running-async-jobs", "1")
    backend.wait_for_dask()
    job_id = backend.submit(
        {"name": "first"}, {"name": "long", "seconds": 1}, {"name": "last"}, queue="night"
    )
    pid = backend.wait_for_stage(job_id, "long")
    assert backend.http.post("/v1/ops/queues/night/pause", json={"reason": "recovery"}).status_code == 200
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: "recovered" in backend.transitions(job_id), what="it is recovered")
    other = backend.submit({"name": "elsewhere"})
    assert backend.wait_for(other)["outcome"] == "succeeded"
    why = backend.http.get(f"/v1/ops/jobs/{job_id}/why").json()
    assert why["code"] == "paused"
    assert backend.record(job_id).delivered_epoch is None
    assert len(backend.attempts(job_id)) == 1
    backend.http.post("/v1/ops/queues/night/resume", json={})
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    backend.assert_no_stage_repeated(job_id, ["first", "long", "last"])


def test_every_event_says_when_it_was_those_of_the_job_itself_too(backend: RunningBackend) -> None:
    """The contract gives these no envelope; people who read the log still ask when a job failed."""
    failed = backend.submit({"name": "bad", "fail": True})
    cancelled = backend.submit({"name": "long", "seconds": 60})
    backend.wait_for(failed)
    backend.wait_for_stage(cancelled, "long")
    assert backend.act(cancelled, "cancel").status_code == 200
    told = {frame.event: frame for one in (failed, cancelled) for frame in backend.events(one) if frame.id}
    assert told.keys() >= {"job.error", "job.cancellation_requested", "job.cancelled"}
    for kind, frame in told.items():
        assert datetime.fromisoformat(frame.data["timestamp"]).tzinfo is not None, kind
