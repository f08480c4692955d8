"""The operations API's cluster and drills, on real processes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Future
from jobdeck_backend.api import recovery_schemas, schemas
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend

DRILLS = "/v1/ops/drills"


def start(backend: RunningBackend, fault: str, **body: Any) -> dict[str, Any]:
    answer = backend.http.post(DRILLS, json={"fault": fault, "confirm": fault, **body})
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def wait_for_end(backend: RunningBackend, drill: dict[str, Any]) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        seen = backend.http.get(f"{DRILLS}/{drill['id']}").json()
        return seen if seen["state"] != "running" else None

    seen = wait_until(ended, 40, what="the drill ends")
    recovery_schemas.Drill.model_validate(seen)
    return seen  # type: ignore[return-value]


def submit_running(backend: RunningBackend, count: int) -> list[str]:
    """Jobs whose first stage is complete and whose second, long one, runs."""
    stages = ({"name": "first", "seconds": 0}, {"name": "long", "seconds": 3}, {"name": "last", "seconds": 0})
    ids = [backend.submit(*stages, deadline_seconds=600) for _ in range(count)]
    for job_id in ids:
        backend.wait_for_stage(job_id, "long")
    return ids


def test_the_cluster_is_told_with_the_processes_behind_it(backend: RunningBackend) -> None:
    cluster = wait_until(
        lambda: seen if len((seen := backend.cluster())["tasks"]) else None, what="a picture of Dask"
    )
    schemas.Cluster.model_validate(cluster)
    assert cluster["scheduler"]["pid"] == backend.pid_of("scheduler")
    roles = backend.processes()
    assert {roles[worker["pid"]] for worker in cluster["workers"]} == {"worker"}
    assert len(cluster["workers"]) == 2
    assert cluster["disagreements"] == []


@pytest.mark.parametrize("resumed", [False, True])
def test_a_key_cancelled_by_a_foreign_client_is_told_and_its_job_given_again(
    backend: RunningBackend, *, resumed: bool
) -> None:
    running = [backend.submit({"name": "long", "seconds": 60}, deadline_seconds=300)]
    if resumed:  # Dask still has the key under which it ran
        victim = backend.submit({"name": "short", "seconds": 1}, deadline_seconds=600)
        backend.wait_for_stage(victim, "short")
        assert backend.act(victim, "cancel").status_code == 200
        wait_until(lambda: backend.attempts(victim)[0].ended_at, what="its thread has ended")
    running.append(backend.submit({"name": "long", "seconds": 60}, deadline_seconds=300))
    for job_id in running:
        backend.wait_for_stage(job_id, "long")
    if resumed:
        assert backend.act(victim, "resume").status_code == 200
    else:
        victim = backend.submit({"name": "short"}, deadline_seconds=600)
    wait_until(lambda: state(backend, victim) == "queued", what="the third job is queued")
    with Client(backend.cluster()["scheduler"]["address"], set_as_default=False) as foreign:
        keys = foreign.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        first = [key for key in keys if key[1] == victim][-1]
        foreign.cancel([Future(first, foreign)], force=True)
        found = wait_until(
            lambda: [one for one in backend.cluster()["disagreements"] if one["seconds"] > 2],
            what="the disagreement is told",
        )
        assert [(one["kind"], one["job_id"]) for one in found] == [("delivered_unknown_to_dask", victim)]
        wait_until(
            lambda: any(
                key[1] == victim and key != first
                for key in foreign.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
            ),
            what="Dask has it again under a new key",
        )
    wait_until(lambda: backend.cluster()["disagreements"] == [], what="they agree again")
    for job_id in running:
        assert backend.act(job_id, "cancel").status_code == 200
    assert backend.wait_for(victim, "success")["attempt"] == 1 + resumed


def state(backend: RunningBackend, job_id: str) -> str:
    return str(backend.http.get(f"/v1/ops/jobs/{job_id}").json()["job"]["state"])


def test_r23_a_drill_that_loses_the_scheduler_passes_with_evidence(backend: RunningBackend) -> None:
    scheduler, epoch = backend.pid_of("scheduler"), backend.overview()["scheduler"]["epoch"]
    ids = submit_running(backend, 2)
    drill = wait_for_end(backend, start(backend, "scheduler-loss"))
    steps = {step["name"]: step for step in drill["timeline"]}
    assert drill["state"] == "passed", drill
    assert list(steps)[:3] == ["injected", "noticed", "requeued"]
    assert steps["injected"]["text"].endswith(f"(pid {scheduler})")
    assert steps["noticed"]["seen"] <= 0.5
    assert steps["running again"]["verdict"] == "ok"
    assert not Path(f"/proc/{scheduler}").exists()
    assert backend.overview()["scheduler"]["epoch"] == epoch + 1
    evidence = {one["job_id"]: one for one in drill["evidence"]}
    for job_id in ids:
        assert evidence[job_id]["stages_before"] == ["first"]
        assert evidence[job_id]["repeated"] == 0
        assert evidence[job_id]["attempt"] == 2
        backend.wait_for(job_id, "success")
        # The witness that is not jobdeck's own table.
        assert backend.journal_stages(job_id) == ["first", "long", "last"]


def test_r23_a_drill_that_loses_a_worker_leaves_the_other_one_alone(backend: RunningBackend) -> None:
    ids = submit_running(backend, 2)
    target = backend.record(ids[0]).worker
    drill = wait_for_end(backend, start(backend, "worker-loss", target=target))
    steps = {step["name"]: step for step in drill["timeline"]}
    assert drill["state"] == "passed", drill
    assert steps["others"]["text"] == "1 of 1 other running jobs untouched"
    assert steps["replaced"]["verdict"] == "ok"
    for job_id in ids:
        backend.wait_for(job_id, "success")
        assert backend.journal_stages(job_id) == ["first", "long", "last"]
    assert [len(backend.attempts(job_id)) for job_id in ids] == [2, 1]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"fault": "scheduler-loss", "confirm": "yes"}, 422, "invalid_input"),
        ({"fault": "meteor", "confirm": "meteor"}, 422, "invalid_input"),
        ({"fault": "worker-loss", "confirm": "worker-loss", "target": "w99"}, 422, "invalid_input"),
    ],
)
def test_a_drill_that_is_not_confirmed_or_has_no_target_does_nothing(
    backend: RunningBackend, body: dict[str, str], status: int, code: str
) -> None:
    processes = backend.processes()
    answer = backend.http.post(DRILLS, json=body)
    assert (answer.status_code, answer.json()["detail"]["code"]) == (status, code)
    assert backend.processes() == processes


def test_one_drill_at_a_time_and_every_one_is_audited_and_listed(backend: RunningBackend) -> None:
    submit_running(backend, 1)
    body = {"fault": "worker-loss", "confirm": "worker-loss"}
    with ThreadPoolExecutor(2) as both:
        answers = list(both.map(lambda _: backend.http.post(DRILLS, json=body), range(2)))
    second, started = sorted(answers, key=lambda answer: -answer.status_code)
    assert (started.status_code, second.status_code) == (202, 409)
    assert second.json()["detail"]["code"] == "not_eligible"
    first = started.json()
    wait_for_end(backend, first)
    listed = backend.http.get(DRILLS).json()
    recovery_schemas.Drills.model_validate(listed)
    assert listed["drills"][0]["id"] == first["id"]
    acts = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    results = [act["result"] for act in acts if act["act"] == "drill worker-loss"]
    assert sorted(results[-2:]) == [
        f"injected into {first['target']}, drill {first['id']}",
        "refused: not_eligible",
    ]


def test_a_server_without_drills_refuses_them(start_backend: StartBackend) -> None:
    backend = start_backend("--no-drills", "--max-running-async-jobs", "1")
    backend.wait_for_dask()
    assert backend.overview()["drills_allowed"] is False
    answer = backend.http.post(DRILLS, json={"fault": "scheduler-loss", "confirm": "scheduler-loss"})
    assert (answer.status_code, answer.json()["detail"]["code"]) == (403, "not_allowed")
    assert backend.http.get(f"{DRILLS}/none").status_code == 404
