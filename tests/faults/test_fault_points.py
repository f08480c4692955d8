"""Killed at each place around a commit, once and twice: what was accepted ends all the same (R3, R20, R25)."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest
from jobdeck_backend.faults import FaultPoint
from running_backend import JOBS, RunningBackend, wait_until

STAGES = ["before", "pay", "after"]
WORKER_POINTS = [
    FaultPoint.CLAIMED,
    FaultPoint.EFFECT_CALLED,
    FaultPoint.GRAPH_FINISHED,
    FaultPoint.CONCLUDED,
]


def arm(directory: Path, point: FaultPoint, job_id: str, deaths: int = 1) -> None:
    for number in range(deaths):
        (directory / f"{point}.{job_id}.{number}").touch()


def request(policy: str = "idempotent") -> str:
    stages: list[dict] = [{"name": name} for name in STAGES]
    stages[1]["effect"] = {"key": "charge", "policy": policy}
    return json.dumps({"stages": stages})


def submit(backend: RunningBackend, job_id: str, policy: str = "idempotent") -> None:
    backend.submit_text(request(policy), agent_type="probe", job_id=job_id)


def check(backend: RunningBackend, job_id: str) -> None:
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    backend.assert_no_stage_repeated(job_id, STAGES)
    (effect,) = backend.effects(job_id)
    calls = [line["key"] for line in backend.journal(job_id) if line["event"] == "effect_called"]
    assert set(calls) == {effect["key"]}, "each call bears the key of the one effect"
    wait_until(lambda: all(one.ended_at for one in backend.attempts(job_id)), what="its attempts are over")
    assert backend.violations() == []


@pytest.fixture
def start(start_backend, tmp_path: Path) -> Callable[..., RunningBackend]:
    """Starts backends in which deaths can be armed in ``tmp_path``."""
    return partial(start_backend, JOBDECK_FAULT_DIR=str(tmp_path))


@pytest.mark.parametrize("deaths", [1, 2])
def test_r3_what_was_committed_when_the_backend_died_is_run_though_nobody_was_answered(
    start, tmp_path: Path, deaths: int
) -> None:
    backend, job_ids = start(), [f"unanswered-{number}" for number in range(deaths)]
    for job_id in job_ids:
        arm(tmp_path, FaultPoint.ADMITTED, job_id)
        with pytest.raises(httpx.TransportError):
            submit(backend, job_id)
        backend.wait_until_gone(20)
        backend = start(state_dir=backend.state_dir)
    for job_id in job_ids:
        check(backend, job_id)
        same = {"agent_type": "probe", "job_id": job_id, "input": request()}
        again = backend.http.post(f"{JOBS}/submit", json=same)
        assert (again.status_code, again.json()["request_matches"]) == (409, True)


@pytest.mark.parametrize("deaths", [1, 2])
@pytest.mark.parametrize("point", [FaultPoint.DELIVERED, FaultPoint.HANDED_OVER])
def test_r3_a_backend_killed_beside_the_handover_to_dask_loses_no_job(
    start, tmp_path: Path, point: FaultPoint, deaths: int
) -> None:
    arm(tmp_path, point, "handed", deaths)
    backend = start()
    submit(backend, "handed")
    for _ in range(deaths):
        backend.wait_until_gone(20)
        backend = start(state_dir=backend.state_dir)
    check(backend, "handed")


def test_r20_r25_i6_i11_a_worker_killed_at_any_point_costs_no_job_a_stage_or_a_second_effect(
    start, tmp_path: Path
) -> None:
    backend = start()
    job_ids = []
    for point in WORKER_POINTS:
        for deaths in (1, 2):
            job_ids.append(f"{point}-{deaths}")
            arm(tmp_path, point, job_ids[-1], deaths)
            submit(backend, job_ids[-1])
    for job_id in job_ids:
        check(backend, job_id)
    # A job whose end is on record is not run again: nobody passes there twice.
    unused = [path.name for point in WORKER_POINTS for path in tmp_path.glob(f"{point}.*")]
    assert [name.rsplit(".", 1)[0] for name in unused] == [f"{FaultPoint.CONCLUDED}.{FaultPoint.CONCLUDED}-2"]


def test_r25_an_effect_that_may_not_be_repeated_holds_its_job_when_the_worker_died_behind_the_call(
    start, tmp_path: Path
) -> None:
    backend = start()
    arm(tmp_path, FaultPoint.EFFECT_CALLED, "paid")
    submit(backend, "paid", policy="manual")
    wait_until(lambda: backend.record("paid").held_reason, 20, what="the job is held")
    (effect,) = backend.effects("paid")
    assert effect["state"] == "uncertain"
    assert backend.judge("paid", effect["key"], "happened", proof="receipt 1").status_code == 200
    assert backend.act("paid", "resume").status_code == 200
    check(backend, "paid")
    assert [line["event"] for line in backend.journal("paid")].count("effect_called") == 1
