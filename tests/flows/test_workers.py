"""A worker is drained, restarted and read while everything else goes on."""

import asyncio
import os
import signal
import time
from typing import Any

import pytest
from distributed import Worker
from jobdeck_backend.api import schemas, worker_schemas
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend

STAGES = ({"name": "first"}, {"name": "long", "seconds": 1.5}, {"name": "last"})
POISON_ATTEMPTS = 3


def post(backend: RunningBackend, name: str, act: str, **body: Any) -> worker_schemas.WorkerAct:
    answer = backend.http.post(f"/v1/ops/workers/{name}/{act}", json=body)
    assert answer.status_code in {200, 202}, answer.text
    return worker_schemas.WorkerAct.model_validate(answer.json())


def states(backend: RunningBackend) -> dict[str, str]:
    cluster = schemas.Cluster.model_validate(backend.cluster())
    return {worker.name: worker.state for worker in cluster.workers}


def worker_of(backend: RunningBackend, job_id: str) -> str:
    backend.wait_for_stage(job_id, "long")
    return str(backend.record(job_id).worker)


def wait_for_replacement(backend: RunningBackend, name: str) -> str:
    def replaced() -> str | None:
        now = states(backend)
        fresh = [other for other, state in now.items() if state == "running"]
        return fresh[-1] if name not in now and len(fresh) == 2 else None

    return str(wait_until(replaced, 20, what=f"{name} is replaced"))


def audited(backend: RunningBackend) -> list[tuple[str, str | None, str]]:
    acts = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    return [(act["act"], act["reason"], act["result"]) for act in acts]


@pytest.fixture(autouse=True)
def two_fresh_workers(backend: RunningBackend) -> None:
    """What the test before drained is replaced."""
    for name, state in states(backend).items():
        if state in {"draining", "drained"}:
            post(backend, name, "restart", grace_seconds=0)
            wait_for_replacement(backend, name)


def test_a_drained_worker_finishes_its_job_and_takes_nothing_new(backend: RunningBackend) -> None:
    running = backend.submit(*STAGES)
    name = worker_of(backend, running)
    done = post(backend, name, "drain", reason="its machine is hot")
    assert (done.state, done.running) == ("draining", 1)
    assert done.result == f"worker {name} takes nothing new; 1 job goes on to its end there"
    assert audited(backend)[-1] == ("drain", "its machine is hot", done.result)
    later = [backend.submit({"name": "short", "seconds": 0.05}) for _ in range(6)]
    for job_id in later:
        backend.wait_for(job_id, "success")
        assert backend.record(job_id).worker != name
    backend.wait_for(running, "success")
    assert [attempt.worker for attempt in backend.attempts(running)] == [name]
    wait_until(lambda: states(backend)[name] == "drained", what="it is drained")
    assert backend.overview()["slots"] == {"total": 1, "taken": 0}


def test_a_drained_worker_is_taken_back_and_works_again(backend: RunningBackend) -> None:
    for name in states(backend):
        post(backend, name, "drain")
    waiting = backend.submit({"name": "short", "seconds": 0.05})
    wait_until(lambda: set(states(backend).values()) == {"drained"}, what="all are drained")
    why = backend.http.get(f"/v1/ops/jobs/{waiting}/why").json()
    assert why["code"] == "no_worker"
    assert "Take one back" in why["text"]
    strict = {"agent_type": "probe", "input": "{}", "admission": "strict", "deadline_seconds": 3600}
    refused = backend.http.post("/v1/jobs/async/submit", json=strict)
    assert refused.status_code == 409, "no slot takes work, so nothing can be promised"
    name = sorted(states(backend))[0]
    done = post(backend, name, "undrain", reason="it cooled down")
    assert (done.state, done.result) == ("running", f"worker {name} takes work again")
    assert audited(backend)[-1] == ("undrain", "it cooled down", done.result)
    backend.wait_for(waiting, "success")
    assert backend.record(waiting).worker == name
    assert wait_until(lambda: backend.overview()["slots"]["total"] == 1, what="its slot counts again")
    again = backend.http.post(f"/v1/ops/workers/{name}/undrain", json={})
    assert again.status_code == 409
    assert "is not drained (running)" in again.json()["detail"]["message"]


def test_a_restart_waits_for_the_job_that_runs_and_a_fresh_worker_takes_its_place(
    backend: RunningBackend,
) -> None:
    job_id = backend.submit(*STAGES)
    name = worker_of(backend, job_id)
    assert post(backend, name, "restart").state == "restarting"
    refused = backend.http.post(f"/v1/ops/workers/{name}/restart", json={})
    assert refused.status_code == 409
    assert "being restarted already" in refused.json()["detail"]["message"]
    backend.wait_for(job_id, "success")
    assert len(backend.attempts(job_id)) == 1, "it was left its time"
    wait_for_replacement(backend, name)


def test_r19_jobs_of_a_restarted_worker_are_recovered_and_never_held_as_poison(
    backend: RunningBackend,
) -> None:
    job_id = backend.submit({"name": "first"}, {"name": "long", "seconds": 2}, {"name": "last"})
    for attempt in range(1, POISON_ATTEMPTS + 1):
        wait_until(
            lambda: len(backend.attempts(job_id)) == attempt and backend.record(job_id).worker,  # noqa: B023
            what=f"attempt {attempt}",
        )
        name = str(backend.attempts(job_id)[-1].worker)
        post(backend, name, "restart", grace_seconds=0)
        wait_for_replacement(backend, name)
    backend.wait_for(job_id, "success")
    ends = [attempt.end_reason for attempt in backend.attempts(job_id)]
    assert ends == ["worker restarted"] * POISON_ATTEMPTS + ["succeeded"]
    backend.assert_no_stage_repeated(job_id, ["first", "long", "last"])


def test_r16_a_restart_frees_the_slot_of_a_job_that_ignores_its_cancel(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "seconds": 60, "ignore_cancel": True})
    name = worker_of(backend, job_id)
    backend.act(job_id, "cancel")
    assert backend.overview()["slots"]["taken"] == 1
    asked = time.monotonic()
    done = post(backend, name, "restart")
    assert done.result == f"worker {name} is replaced now; nothing runs there"
    wait_for_replacement(backend, name)
    wait_until(lambda: backend.overview()["slots"] == {"total": 2, "taken": 0}, what="the slot is free")
    assert time.monotonic() - asked < 10, "the grace is for jobs, not for threads"
    assert backend.job(job_id)["outcome"] == "cancelled"


def test_a_worker_that_hangs_can_be_restarted(backend: RunningBackend) -> None:
    job_id = backend.submit(*STAGES)
    pid = backend.wait_for_stage(job_id, "long")
    name = str(backend.record(job_id).worker)
    os.kill(pid, signal.SIGSTOP)
    post(backend, name, "restart", grace_seconds=0.5)
    assert backend.wait_for(job_id, timeout_s=20)["outcome"] == "succeeded"
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["worker restarted", "succeeded"]
    wait_for_replacement(backend, name)


@pytest.mark.parametrize("act", ["drain", "restart"])
def test_an_act_on_a_worker_nobody_has_names_those_there_are(backend: RunningBackend, act: str) -> None:
    answer = backend.http.post(f"/v1/ops/workers/w99-e9/{act}", json={"reason": "a mistake"})
    assert answer.status_code == 404
    assert sorted(states(backend))[0] in answer.json()["detail"]["message"]
    assert audited(backend)[-1] == (act, "a mistake", "refused: not_found, worker w99-e9")
    assert backend.http.post(f"/v1/ops/workers/..%2Fjobdeck/{act}", json={}).status_code in {404, 422}


def test_a_worker_of_somebody_elses_is_drained_and_never_restarted(backend: RunningBackend) -> None:
    def act() -> None:
        wait_until(lambda: states(backend).get("foreign") == "running", what="it has joined")
        assert "takes nothing new" in post(backend, "foreign", "drain").result
        wait_until(lambda: states(backend)["foreign"] == "drained", what="it is drained")
        refused = backend.http.post("/v1/ops/workers/foreign/restart", json={})
        assert refused.status_code == 409
        assert "restart it where it was started" in refused.json()["detail"]["message"]
        assert backend.http.get("/v1/ops/workers/foreign/log").status_code == 404

    async def join() -> None:
        address = backend.cluster()["scheduler"]["address"]
        async with Worker(address, name="foreign", nthreads=1, dashboard=False):
            await asyncio.to_thread(act)

    asyncio.run(join())
    wait_until(lambda: "foreign" not in states(backend), what="it has left")


def test_the_log_of_a_worker_is_at_hand_bounded_and_outlives_it(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "fail": True})
    backend.wait_for(job_id, "failure")
    name = backend.attempts(job_id)[0].worker

    def read(tail: int) -> worker_schemas.WorkerLog:
        answer = backend.http.get(f"/v1/ops/workers/{name}/log", params={"tail": tail})
        assert answer.status_code == 200, answer.text
        return worker_schemas.WorkerLog.model_validate(answer.json())

    whole = read(5000)
    assert any("job failed" in line and job_id in line for line in whole.lines)
    assert read(2).lines == whole.lines[-2:]
    assert read(2).more
    post(backend, name, "restart", grace_seconds=0)
    wait_for_replacement(backend, name)
    assert whole.lines[-1] in read(5000).lines
    assert backend.http.get("/v1/ops/workers/w99-e9/log").status_code == 404
    assert backend.http.get(f"/v1/ops/workers/{name}/log", params={"tail": 0}).status_code == 422


def test_a_drained_cluster_says_that_nobody_takes_work_and_goes_on_with_a_fresh_worker(
    start_backend: StartBackend,
) -> None:
    backend = start_backend("--max-running-async-jobs", "1")
    backend.wait_for_dask()
    (name,) = states(backend)
    post(backend, name, "drain")
    job_id = backend.submit({"name": "late"})
    wait_until(lambda: states(backend)[name] == "drained", what="it is drained")
    why = backend.http.get(f"/v1/ops/jobs/{job_id}/why").json()
    assert (why["code"], why["data"]) == ("no_worker", {"drained": [name]})
    assert backend.job(job_id)["status"] == "submitted"
    post(backend, name, "restart")
    assert backend.wait_for(job_id, timeout_s=20)["outcome"] == "succeeded"
