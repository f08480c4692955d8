"""The recovery plan over HTTP, with an operator who reads before it acts; and the check of all records."""

import os
import signal
import sqlite3

from jobdeck_backend.api import recovery_schemas as schemas
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend

PLAN, APPLY = "/v1/ops/recovery/plan", "/v1/ops/recovery/apply"
STAGES = ({"name": "first"}, {"name": "long", "seconds": 1}, {"name": "last"})


def read_plan(backend: RunningBackend) -> dict[str, schemas.PlanLine]:
    answer = backend.http.get(PLAN)
    assert answer.status_code == 200, answer.text
    return {one.job_id: one for one in schemas.RecoveryPlan.model_validate(answer.json()).actions}


def apply(backend: RunningBackend, *job_ids: str) -> schemas.AppliedPlan:
    answer = backend.http.post(APPLY, json={"jobs": list(job_ids)} if job_ids else {})
    assert answer.status_code == 200, answer.text
    return schemas.AppliedPlan.model_validate(answer.json())


def test_r18_a_lost_job_waits_for_the_operator_who_reads_the_plan_and_applies_it(
    start_backend: StartBackend,
) -> None:
    backend = start_backend("--recovery", "manual", "--max-running-async-jobs", "1")
    backend.wait_for_dask()
    job_id = backend.submit(*STAGES)
    in_line = backend.submit({"name": "later"}, deadline_seconds=600)
    pid = backend.wait_for_stage(job_id, "long")
    alive = read_plan(backend)[job_id]
    assert (alive.action, alive.automatic, alive.evidence["pid"]) == ("leave", False, pid)
    assert alive.reason.startswith("runs on ")
    os.kill(pid, signal.SIGKILL)
    line = wait_until(lambda: seen if (seen := read_plan(backend)[job_id]).action != "leave" else None, 10)
    assert (line.action, line.reason) == ("resume from checkpoint", "worker lost; resumes after stage first")
    assert line.automatic is False
    told = wait_until(
        lambda: (
            said
            if (said := backend.http.get(f"/v1/ops/jobs/{job_id}/why").json())["code"] != "running"
            else None
        ),
        10,
    )
    assert (told["code"], told["data"]["stage"]) == ("lost", "long")
    assert "once a person applies the recovery plan" in told["text"]
    assert line.evidence["last_stage"] == "first"
    assert in_line not in read_plan(backend), "nothing is to be recovered of what is in line"
    assert backend.http.get(PLAN).json()["in_line"] <= 1
    assert backend.wait_for(in_line, timeout_s=40)["outcome"] == "succeeded"
    assert backend.record(job_id).status == "running", "nobody applied it"
    applied = apply(backend, job_id, "no-such-job")
    assert [(one.job_id, one.result) for one in applied.results] == [
        (job_id, "done"),
        ("no-such-job", "skipped"),
    ]
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    backend.assert_no_stage_repeated(job_id, ["first", "long", "last"])
    again = apply(backend)
    assert (again.done, again.skipped) == (0, 0)
    acts = backend.http.get("/v1/ops/audit").json()["acts"]
    assert [act["result"] for act in acts if act["act"] == "recovery apply"] == [
        "1 done, 1 skipped",
        "0 done, 0 skipped",
    ]


def test_r17_the_overview_says_who_recovers_since_when_and_from_whom(start_backend: StartBackend) -> None:
    first = start_backend()
    told = schemas.Recovery.model_validate(first.http.get("/v1/ops/overview").json()["recovery"])
    assert (told.mode, told.epoch, told.taken_from) == ("auto", 1, None)
    assert told.owner is not None
    assert told.owner.endswith(f":{first.pid}")
    first.kill()
    first.wait_until_gone(5)
    second = start_backend(state_dir=first.state_dir)
    taken = schemas.Recovery.model_validate(second.http.get("/v1/ops/overview").json()["recovery"])
    assert (taken.epoch, taken.taken_from) == (2, told.owner)
    assert taken.acquired_at is not None
    assert taken.expires_in is not None
    assert taken.expires_in > 0


def test_fsck_over_http_is_clean_until_a_hand_does_damage(start_backend: StartBackend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit({"name": "only"})
    backend.wait_for(job_id)
    clean = schemas.Fsck.model_validate(backend.http.get("/v1/ops/fsck").json())
    assert (clean.clean, clean.violations) == (True, [])
    assert len(clean.checked) > 10
    by_hand = sqlite3.connect(backend.state_dir / "jobdeck.db", timeout=30)
    by_hand.execute("UPDATE jobs SET fence = 0")
    by_hand.commit()
    damaged = schemas.Fsck.model_validate(backend.http.get("/v1/ops/fsck").json())
    by_hand.execute("UPDATE jobs SET fence = 1")
    by_hand.commit()
    by_hand.close()
    assert not damaged.clean
    assert [(one.invariant, one.job_id) for one in damaged.violations] == [("I7 fences never fall", job_id)]
