"""Jobs that wait for others (``after``)."""

from running_backend import JOBS, RunningBackend, wait_until


def test_a_dependent_starts_after_all_it_waits_for(backend: RunningBackend) -> None:
    before = [backend.submit({"name": "first", "seconds": 0.3}, output=number) for number in range(3)]
    job_id = backend.submit({"name": "second"}, after=before)
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    lines = [
        (line["job_id"], line["event"]) for line in backend.journal() if line["job_id"] in {*before, job_id}
    ]
    started = lines.index((job_id, "stage_started"))
    assert {one for one, event in lines[:started] if event == "stage_completed"} == set(before)


def test_a_chain_runs_in_order_whatever_the_order_of_deadlines(backend: RunningBackend) -> None:
    chain = [backend.submit({"name": "link"}, deadline_seconds=60)]
    for number in range(4):
        chain.append(backend.submit({"name": "link"}, after=[chain[-1]], deadline_seconds=50 - number))
    assert backend.wait_for(chain[-1])["outcome"] == "succeeded"
    started = [line["job_id"] for line in backend.journal() if line["event"] == "stage_started"]
    assert [job_id for job_id in started if job_id in chain] == chain


def test_a_failed_predecessor_fails_its_dependent_by_name(backend: RunningBackend) -> None:
    failing = backend.submit({"name": "bad", "seconds": 0.2, "fail": True})
    dependent = backend.submit({"name": "never"}, after=[failing])
    job = backend.wait_for(dependent)
    assert (job["status"], job["outcome"]) == ("failure", "failed")
    assert failing in job["error"]
    assert backend.journal(dependent) == []
    assert backend.record(dependent).error_type == "PredecessorFailed"


def test_the_finished_policy_takes_any_end(backend: RunningBackend) -> None:
    failing = backend.submit({"name": "bad", "seconds": 0.2, "fail": True})
    dependent = backend.submit({"name": "cleanup"}, after=[failing], after_policy="finished")
    assert backend.wait_for(dependent)["outcome"] == "succeeded"
    lines = [line["job_id"] for line in backend.journal() if line["job_id"] in {failing, dependent}]
    assert lines[-1] == dependent


def test_a_dependent_of_a_cancelled_job_fails_by_its_name(backend: RunningBackend) -> None:
    first = backend.submit({"name": "long", "seconds": 60})
    dependent = backend.submit({"name": "never"}, after=[first])
    backend.wait_for_stage(first, "long")
    backend.http.post(f"{JOBS}/job/{first}/cancel")
    assert first in backend.wait_for(dependent)["error"]


def test_a_dependent_of_a_finished_job_runs_at_once(backend: RunningBackend) -> None:
    first = backend.submit()
    backend.wait_for(first, "success")
    assert backend.wait_for(backend.submit(after=[first]))["outcome"] == "succeeded"


def test_predecessors_inherit_the_nearest_deadline_through_the_chain(backend: RunningBackend) -> None:
    first = backend.submit({"name": "long", "seconds": 60})
    second = backend.submit({"name": "long", "seconds": 60}, after=[first], deadline_seconds=500)
    third = backend.submit({"name": "long", "seconds": 60}, after=[second], deadline_seconds=100)
    nearest = backend.record(third).dispatch_deadline
    assert backend.record(first).dispatch_deadline == nearest
    assert backend.record(second).dispatch_deadline == nearest
    assert backend.job(first)["deadline"] is None, "what is inherited is urgency, not the promise"
    for job_id in (third, second, first):
        backend.http.post(f"{JOBS}/job/{job_id}/cancel")
    wait_until(lambda: all(attempt.ended_at for attempt in backend.attempts(first)))


def test_waiting_for_an_unknown_job_is_refused_and_nothing_stored(backend: RunningBackend) -> None:
    body = {"agent_type": "probe", "input": "{}", "job_id": "dependent-1", "after": ["nobody"]}
    answer = backend.http.post(f"{JOBS}/submit", json=body)
    assert answer.status_code == 422
    assert "nobody" in answer.json()["detail"]
    assert backend.http.get(f"{JOBS}/job/dependent-1").status_code == 404
