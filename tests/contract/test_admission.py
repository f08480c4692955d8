"""Strict admissions, the forecast, batches and limits, from outside (R12)."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest
from running_backend import JOBS, RunningBackend, wait_until
from starting_backends import StartBackend

LONG = '{"stages": [{"name": "long", "seconds": 120}]}'
STRICT = {"agent_type": "probe", "input": LONG, "admission": "strict"}


def ask(backend: RunningBackend, **body: Any) -> httpx.Response:
    return backend.http.post(f"{JOBS}/submit", json=body)


def after(answer: httpx.Response, what: str, since: str) -> float:
    """Seconds from one time of a refusal to the other."""
    detail = answer.json()["detail"]
    value = detail["offer"]["deadline"] if what == "offer" else detail[what]
    return (datetime.fromisoformat(value) - datetime.fromisoformat(since)).total_seconds()


@pytest.fixture(scope="module")
def eight_slots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    """Eight slots, and executions that count with 120 s: none of this module's ever succeeds."""
    directory = tmp_path_factory.mktemp("admission")
    environment = {"JOBDECK_ASSUMED_SERVICE_S": "120"}
    running = RunningBackend(directory / "state", "--dask-threads-per-worker", "4", **environment)
    running.wait_for_dask()
    yield running
    running.finish()


@pytest.fixture
def slow(eight_slots: RunningBackend) -> Iterator[RunningBackend]:
    """The same, without a job."""
    yield eight_slots
    eight_slots.http.post("/v1/ops/queues/probe/resume")
    for row in unfinished(eight_slots):
        eight_slots.act(row["job_id"], "cancel")
    wait_until(lambda: eight_slots.overview()["slots"]["taken"] == 0, what="all slots are free again")


def unfinished(backend: RunningBackend) -> list[dict[str, Any]]:
    rows = backend.http.get("/v1/ops/jobs?sort=left&limit=1000").json()["jobs"]
    return [row for row in rows if row["outcome"] is None]


def test_r12_of_24_strict_jobs_of_120_s_on_8_slots_16_are_admitted_and_8_are_offered_360_s(
    slow: RunningBackend,
) -> None:
    begun = slow.overview()["at"]
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: ask(slow, **STRICT, deadline_seconds=300), range(24)))
    admitted = [one for one in answers if one.status_code == 202]
    refused = [one for one in answers if one.status_code == 409]
    assert (len(admitted), len(refused)) == (16, 8)
    assert all(one.json()["detail"]["code"] == "deadline_unattainable" for one in refused)
    assert all(360 <= after(one, "offer", begun) < 370 for one in refused)
    assert len(unfinished(slow)) == 16, "nothing is stored of the refused"
    offer = refused[0].json()["detail"]["offer"]["deadline"]
    assert ask(slow, **STRICT, deadline=offer).status_code == 202


def test_r12_no_strict_job_is_made_late_by_a_later_admission(slow: RunningBackend) -> None:
    for _ in range(16):
        assert ask(slow, **STRICT, deadline_seconds=300).status_code == 202
    # More urgent than all that wait: a strict one would push one of them out, a best-effort one goes behind them.
    refused = ask(slow, **STRICT, deadline_seconds=200)
    assert refused.status_code == 409
    hasty = ask(slow, agent_type="probe", input=LONG, deadline_seconds=200).json()["job_id"]
    dependent = ask(slow, agent_type="probe", input=LONG, deadline_seconds=150, after=[hasty]).json()[
        "job_id"
    ]
    strict = [
        slow.record(row["job_id"]) for row in unfinished(slow) if row["job_id"] not in {hasty, dependent}
    ]
    last = max(job.dispatch_deadline for job in strict)
    assert slow.record(hasty).dispatch_deadline > last
    assert slow.record(dependent).dispatch_deadline > last
    assert slow.job(hasty)["deadline"] < slow.job(strict[0].job_id)["deadline"], (
        "its deadline is what was asked"
    )


def test_one_that_gave_way_still_expires_at_its_own_deadline(slow: RunningBackend) -> None:
    for _ in range(16):
        assert ask(slow, **STRICT, deadline_seconds=250).status_code == 202
    hasty = ask(slow, agent_type="probe", input="{}", deadline_seconds=1).json()["job_id"]
    body = slow.wait_for(hasty)
    assert (body["outcome"], body["error"]) == ("expired", "expired: deadline passed while queued")


def test_the_forecast_says_what_a_new_job_would_meet_and_stores_nothing(slow: RunningBackend) -> None:
    for _ in range(8):
        ask(slow, agent_type="probe", input=LONG)
    wait_until(lambda: slow.overview()["slots"]["taken"] == 8, what="all slots are taken")
    told = slow.http.get("/v1/ops/forecast", params={"agent_type": "probe", "deadline_seconds": 200}).json()
    assert (told["slots"], told["unfinished"]) == (8, 8)
    probe = next(one for one in told["workflows"] if one["workflow"] == "probe")
    assert probe["service_time"] == {"p50": 120, "p95": 120, "mean": 120, "n": 0}
    asked = told["asked"]
    # It goes before all that wait, but those that run are not stopped for it.
    assert (asked["attainable"], asked["offer"] is None) == (False, False)
    assert len(unfinished(slow)) == 8
    assert slow.http.get("/v1/ops/forecast", params={"agent_type": "none"}).status_code == 400


def test_a_batch_is_admitted_offered_or_refused_one_by_one(slow: RunningBackend) -> None:
    strict = {**STRICT, "deadline_seconds": 130}
    bodies = [{**strict, "job_id": f"strict-{number}"} for number in range(9)]
    bodies += [
        {"agent_type": "none", "input": "x"},
        {"agent_type": "probe"},
        {"agent_type": "probe", "input": "{}"},
    ]
    answer = slow.http.post("/v1/ops/jobs/batch", json={"jobs": bodies}).json()
    kinds = [one["result"] for one in answer["results"]]
    assert kinds == ["admitted"] * 8 + ["offered"] + ["refused"] * 2 + ["admitted"]
    assert (answer["admitted"], answer["offered"], answer["refused"]) == (9, 1, 2)
    assert answer["results"][0]["job_id"] == "strict-0"
    assert answer["results"][8]["offer"]["deadline"].endswith("Z")
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
    said = rf"the deadline {moment} of job strict-8 cannot be promised: its predicted completion is {moment};"
    assert re.match(said, answer["results"][8]["message"])
    assert [one["code"] for one in answer["results"][9:11]] == ["unknown_agent_type", "invalid_input"]


def test_a_strict_job_in_a_paused_queue_is_promised_nothing(slow: RunningBackend) -> None:
    slow.http.post("/v1/ops/queues/probe/pause")
    detail = ask(slow, **STRICT, deadline_seconds=3000).json()["detail"]
    assert (detail["predicted_completion"], detail["offer"]) == (None, None)
    assert "none can be now, as its queue probe is paused;" in detail["message"]
    ask(slow, agent_type="probe", input=LONG)
    told = slow.http.get("/v1/ops/forecast", params={"agent_type": "probe"}).json()
    assert (told["unfinished"], told["stuck"], told["drain_seconds"]) == (1, 1, 0)
    assert told["asked"]["attainable"] is False
    assert told["asked"]["reason"] == "none can be now, as its queue probe is paused"


def test_beyond_a_limit_nothing_is_stored_and_the_caller_is_told_when_to_come_again(
    start_backend: StartBackend,
) -> None:
    limited = start_backend(JOBDECK_UNFINISHED_JOBS_MAX="3", JOBDECK_SUBMISSIONS_PER_MINUTE_MAX="4")
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda n: ask(limited, agent_type="probe", input=LONG, job_id=f"job-{n}"), range(8))
        )
    assert sorted(one.status_code for one in answers) == [202] * 3 + [503] * 5
    accepted = [one.json()["job_id"] for one in answers if one.status_code == 202]
    again = ask(limited, agent_type="probe", input=LONG, job_id=accepted[0])
    assert (again.status_code, again.json()["request_matches"]) == (409, True), (
        "a known id is told of, whatever"
    )
    for job_id in accepted:
        limited.act(job_id, "cancel")
    assert ask(limited, agent_type="probe", input=LONG).status_code == 202
    workflow = {"workflow": "probe", "input_message": LONG}
    too_fast = [
        ask(limited, agent_type="probe", input=LONG),
        limited.http.post("/v1/workflow/async", json=workflow),
    ]
    assert [one.status_code for one in too_fast] == [429, 429]
    for refused in (*too_fast, next(one for one in answers if one.status_code == 503)):
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "nothing was stored" in refused.json()["detail"]
    assert limited.http.get("/v1/ops/jobs").json()["total"] == 4
