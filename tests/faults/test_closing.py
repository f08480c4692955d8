"""A job killed after its last checkpoint and before its success is on record (W6): closed, not run (R19, R20)."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from running_backend import RunningBackend, wait_until

LICENCE = Path(__file__).parents[2] / "LICENSE"


@contextmanager
def no_success_of(backend: RunningBackend, job_id: str) -> Iterator[None]:
    """The database refuses the job's success: all before it is written, as if the worker died there."""
    by_hand = sqlite3.connect(backend.state_dir / "jobdeck.db", timeout=30, isolation_level=None)
    by_hand.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON jobs WHEN NEW.status = 'success' AND OLD.job_id = "
        f"'{job_id}' BEGIN SELECT RAISE(ABORT, 'not yet'); END"
    )
    try:
        yield
    finally:
        by_hand.execute("DROP TRIGGER refuse")
        by_hand.close()


def lose_after_the_last_checkpoint(backend: RunningBackend, job_id: str, last_stage: str) -> None:
    with no_success_of(backend, job_id):
        wait_until(lambda: last_stage in {run.node for run in backend.stages(job_id)}, 30)
        # The refusal ends the task while the record says that it runs: its worker is killed now.
        wait_until(lambda: executing(backend) == 0, 10, what="the success was refused")
        assert backend.record(job_id).status == "running"
        os.kill(backend.attempts(job_id)[0].pid, signal.SIGKILL)
        wait_until(lambda: plan_of(backend, job_id)["action"] != "leave", 10, what="the loss is planned")


def executing(backend: RunningBackend) -> int:
    return sum(int(worker["executing"]) for worker in backend.cluster()["workers"])


def plan_of(backend: RunningBackend, job_id: str) -> dict[str, object]:
    plan = backend.http.get("/v1/ops/recovery/plan").json()
    return next(one for one in plan["actions"] if one["job_id"] == job_id)


def test_r19_a_job_whose_graph_is_finished_is_closed_from_its_checkpoint(start_backend) -> None:
    backend = start_backend("--recovery", "manual", JOBDECK_OFFLINE_TOKENS_PER_SECOND="100000")
    backend.wait_for_dask()
    job_id = backend.submit_text(LICENCE.read_text(), agent_type="contract_review")
    lose_after_the_last_checkpoint(backend, job_id, "report")
    line = plan_of(backend, job_id)
    assert line["action"] == "close from its checkpoint"
    assert line["reason"] == "worker lost; its graph is finished, only its end is missing"
    assert line["evidence"]["checkpoint_id"] >= backend.stages(job_id)[-1].checkpoint_id
    stages, journal = backend.stages(job_id), backend.journal(job_id, "contract_review")
    calls = model_calls(backend, job_id)
    applied = backend.http.post("/v1/ops/recovery/apply", json={"jobs": [job_id]}).json()
    assert (applied["done"], applied["skipped"]) == (1, 0)
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    assert backend.transitions(job_id) == ["submitted", "started", "recovered", "started", "succeeded"]
    assert backend.stages(job_id) == stages
    assert backend.journal(job_id, "contract_review") == journal, "no stage began again"
    assert model_calls(backend, job_id) == calls, "the model was not called again"
    report = backend.http.get(f"/v1/jobs/async/job/{job_id}/report").json()
    assert report["has_report"]


def model_calls(backend: RunningBackend, job_id: str) -> int:
    """By the log, without waiting for its end."""
    by_hand = sqlite3.connect(backend.state_dir / "jobdeck.db", timeout=30)
    count = by_hand.execute(
        "SELECT count(*) FROM events WHERE job_id = ? AND type = 'llm.start'", (job_id,)
    ).fetchone()[0]
    by_hand.close()
    return int(count)
