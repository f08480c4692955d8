"""Every fault that a server can be asked to inject: what was expected, what was seen (R23, R24, R27)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from event_frames import Frame, frames_of
from jobdeck_backend.api import recovery_schemas as schemas
from running_backend import JOBS, RunningBackend, wait_until

DRILLS = "/v1/ops/drills"
STAGES = [{"name": "first"}, {"name": "long", "seconds": 1.5}, {"name": "last", "seconds": 0.2}]
NAMES = ["first", "long", "last"]
LONG = [{"name": f"s{number}", "seconds": 1} for number in range(7)]
"""Longer than a hung scheduler is left alone: its workers go on meanwhile."""


def inject(backend: RunningBackend, fault: str, **body: Any) -> dict[str, Any]:
    answer = backend.http.post(DRILLS, json={"fault": fault, "confirm": fault, **body})
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def heal(backend: RunningBackend, drill: dict[str, Any]) -> None:
    answer = backend.http.post(f"{DRILLS}/{drill['id']}/heal", json={})
    assert answer.status_code == 200, answer.text


def seen(backend: RunningBackend, drill: dict[str, Any]) -> dict[str, Any]:
    now = backend.http.get(f"{DRILLS}/{drill['id']}").json()
    return {"state": now["state"], **{step["name"]: step for step in now["timeline"]}}


def to_its_end(backend: RunningBackend, drill: dict[str, Any], timeout_s: float = 60) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        told = backend.http.get(f"{DRILLS}/{drill['id']}").json()
        return dict(told) if told["state"] != "running" else None

    last = wait_until(ended, timeout_s, what="the drill ends")
    schemas.Drill.model_validate(last)
    return last


def steps_of(drill: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By name; a busy machine may be late, it may not fail."""
    steps = {step["name"]: step for step in drill["timeline"]}
    assert not [step for step in drill["timeline"] if step["verdict"] == "failed"], drill
    assert steps["repeated"]["text"].startswith("0 of ")
    assert steps["effects"]["text"].startswith("0 of ")
    assert steps["invariants"]["text"].endswith(" 0 violations")
    return steps


def two_running(backend: RunningBackend, stages: list[dict[str, Any]] = STAGES) -> list[str]:
    ids = [backend.submit(*stages) for _ in range(2)]
    for job_id in ids:
        backend.wait_for_stage(job_id, stages[1]["name"])
    return ids


def done_once(
    backend: RunningBackend, ids: list[str], attempts: int, stages: list[dict[str, Any]] = STAGES
) -> None:
    for job_id in ids:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        backend.assert_no_stage_repeated(job_id, [stage["name"] for stage in stages])
        assert len(backend.attempts(job_id)) == attempts


def test_r23_a_hung_scheduler_is_suspected_then_lost_then_replaced(backend: RunningBackend) -> None:
    ids, epoch, scheduler = two_running(backend, LONG), backend.epoch(), backend.pid_of("scheduler")
    drill = inject(backend, "scheduler-hang")
    wait_until(lambda: "suspect" in seen(backend, drill), 10, what="it is shown as suspect")
    assert backend.overview()["scheduler"]["state"] == "suspect"
    assert scheduler in backend.processes(), "suspected only: it may be busy"
    drill = to_its_end(backend, drill)
    assert scheduler not in backend.processes()
    steps = steps_of(drill)
    assert list(steps)[:4] == ["injected", "suspect", "noticed", "requeued"]
    assert steps["injected"]["text"].startswith("SIGSTOP to scheduler-")
    assert 0.5 < steps["suspect"]["seen"] < steps["noticed"]["seen"]
    assert 4.5 < steps["noticed"]["seen"] < 8
    assert [steps[name]["expected"] for name in ("suspect", "noticed", "running again")] == [1.5, 5.5, 7.0]
    assert backend.epoch() == epoch + 1
    done_once(backend, ids, attempts=2, stages=LONG)


@pytest.mark.parametrize("fault", ["scheduler-hang", "worker-hang"])
def test_a_hang_that_is_healed_in_time_costs_no_job_anything(backend: RunningBackend, fault: str) -> None:
    ids, epoch = two_running(backend), backend.epoch()
    drill = inject(backend, fault)
    wait_until(lambda: "suspect" in seen(backend, drill), 10, what="it is shown as suspect")
    heal(backend, drill)
    last = to_its_end(backend, drill)
    assert last["state"] == "healed", last
    steps = steps_of(last)
    assert steps["healed"]["text"].startswith("SIGCONT to ")
    assert "well again" in steps
    assert backend.epoch() == epoch
    done_once(backend, ids, attempts=1)
    again = backend.http.post(f"{DRILLS}/{drill['id']}/heal", json={})
    assert (again.status_code, again.json()["detail"]["code"]) == (409, "not_eligible")
    acts = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    assert [act["result"] for act in acts if act["act"] == "drill heal"][-2:] == [
        f"drill {drill['id']} healed",
        f"refused: not_eligible, drill {drill['id']}",
    ]


def test_a_loss_that_is_healed_ends_once_all_is_well(backend: RunningBackend) -> None:
    ids = two_running(backend)
    drill = inject(backend, "worker-loss")
    heal(backend, drill)
    last = to_its_end(backend, drill)
    assert last["state"] == "healed", last
    assert steps_of(last)["healed"]["text"] == "nothing hangs; recovery goes on"
    for job_id in ids:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"


@pytest.mark.parametrize("fault", ["scheduler-loss", "worker-loss", "worker-hang", "stream-drop"])
def test_a_drill_that_hits_no_job_has_shown_nothing_and_says_where(
    backend: RunningBackend, fault: str
) -> None:
    backend.wait_for_dask()
    wait_until(lambda: not backend.overview()["counts"]["running"], what="nothing runs")
    drill = to_its_end(backend, inject(backend, fault))
    verdicts = {name: step["verdict"] for name, step in steps_of(drill).items()}
    late = "late" in verdicts.values()  # on a busy machine
    assert drill["state"] == ("failed" if late else "not_shown"), drill
    empty = {name for name, verdict in verdicts.items() if verdict == "nothing_to_judge"}
    about_jobs = {"requeued", "overtaken", "running again", "next stages", "others", "fenced"}
    about_streams = {"reconnected", "went on", "missing", "twice"}
    assert empty >= {"repeated", "effects"} | (about_jobs | about_streams) & set(verdicts)
    assert not any("learned" in step["text"] for step in drill["timeline"]), (
        "there was nobody to learn anything"
    )


def test_a_job_that_others_keep_from_going_on_has_shown_no_next_stage(backend: RunningBackend) -> None:
    ids = two_running(backend, LONG)
    backend.submit({"name": "urgent", "seconds": 5}, deadline_seconds=60)
    target = backend.record(ids[0]).worker
    steps = steps_of(to_its_end(backend, inject(backend, "worker-loss", target=target)))
    assert steps["running again"]["text"] == "all 2 slots are at work; 0 of 1 interrupted jobs run"
    assert steps["next stages"]["verdict"] == "nothing_to_judge"
    for job_id in ids:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"


def test_a_hang_that_every_job_outlived_has_shown_no_recovery(backend: RunningBackend) -> None:
    """The workers go on while their scheduler is stopped; with the jobs at an end nothing is taken back."""
    backend.wait_for_dask()
    job_id = backend.submit({"name": "short", "seconds": 1})
    backend.wait_for_stage(job_id, "short")
    drill = to_its_end(backend, inject(backend, "scheduler-hang"))
    steps = steps_of(drill)
    assert steps["requeued"]["text"] == "1 of 1 ended by themselves: none had to be taken back"
    assert steps["requeued"]["verdict"] == "nothing_to_judge"
    assert drill["state"] in {"not_shown", "failed"}
    assert len(backend.attempts(job_id)) == 1


def test_r24_a_hung_worker_loses_its_jobs_goes_on_and_changes_nothing(start_backend) -> None:
    backend: RunningBackend = start_backend(JOBDECK_HEARTBEAT_S="0.5", JOBDECK_HEARTBEAT_STALE_S="2")
    backend.wait_for_dask()
    ids = two_running(backend)
    target = backend.record(ids[0]).worker
    drill = to_its_end(backend, inject(backend, "worker-hang", target=target))
    steps = steps_of(drill)
    order = [name for name in steps if name in {"injected", "suspect", "requeued", "continued", "overtaken"}]
    assert order == ["injected", "suspect", "requeued", "continued", "overtaken"]
    assert steps["continued"]["text"].startswith(f"SIGCONT to {target}")
    assert "learned at its next write" in steps["overtaken"]["text"]
    assert steps["others"]["text"] == "1 of 1 other running jobs untouched"
    assert steps["fenced"]["text"].startswith("0 stages")
    done_once(backend, ids[:1], attempts=2)
    done_once(backend, ids[1:], attempts=1)
    assert backend.attempts(ids[0])[0].end_reason == "worker lost"
    assert [run.attempt for run in backend.stages(ids[0]) if run.node in NAMES] == [1, 2, 2]


def test_r27_i5_dropped_readers_come_back_and_miss_nothing(backend: RunningBackend) -> None:
    job_ids = [backend.submit(*({"name": f"s{n}", "seconds": 0.4} for n in range(6))) for _ in range(2)]
    for job_id in job_ids:
        backend.wait_for_stage(job_id, "s0")
    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(follow, backend, job_id) for job_id in job_ids for _ in range(3)]
        wait_until(lambda: backend.overview()["streams"]["subscribers"] >= 6, what="all readers are fed")
        drill = to_its_end(backend, inject(backend, "stream-drop"))
        told = [reader.result(40) for reader in readers]
    steps = steps_of(drill)
    assert steps["injected"]["text"].startswith("connections dropped: 6,")
    assert steps["reconnected"]["verdict"] in {"ok", "late"}
    assert steps["missing"]["text"].startswith("0 events missing")
    assert steps["twice"]["text"] == "0 events sent twice"
    logs = {job_id: [frame for frame in backend.events(job_id) if frame.id is not None] for job_id in job_ids}
    for job_id, connections, frames in told:
        assert connections >= 2, "it was cut off in the middle"
        assert frames == logs[job_id], "nothing missing, nothing twice"
    for job_id in job_ids:
        assert len(backend.attempts(job_id)) == 1, "jobs do not notice who reads"


def test_r27_a_job_that_writes_while_the_drill_is_judged_is_no_fault_of_its_readers(
    backend: RunningBackend,
) -> None:
    talking = {"name": "talking", "seconds": 60, "events": 6_000}
    for job_id in [backend.submit(talking) for _ in range(2)]:
        backend.wait_for_stage(job_id, "talking")
    for _ in range(200):  # so many jobs to look at that much is written meanwhile
        backend.submit(talking)
    steps = steps_of(to_its_end(backend, inject(backend, "stream-drop")))
    assert steps["missing"]["text"].startswith("0 events missing")


def follow(backend: RunningBackend, job_id: str) -> tuple[str, int, list[Frame]]:
    """Read a job's stream to its terminal status, again from the cursor whenever it is cut off."""
    frames: list[Frame] = []
    connections = 0
    while True:
        connections += 1
        headers = {"Last-Event-ID": str(frames[-1].id)} if frames else {}
        with backend.http.stream("GET", f"{JOBS}/job/{job_id}/stream", headers=headers) as response:
            last = None
            for last in frames_of(response):
                if last.id is not None:
                    frames.append(last)
        if last is not None and last.event == "job.status" and last.data["status"] == "success":
            return job_id, connections, frames
