"""The operations API's jobs, from outside: list, detail, why, acts, queues."""

from typing import Any

import pytest
from jobdeck_backend.api import schemas
from jobdeck_backend.jobs.states import State
from running_backend import RunningBackend, wait_until

OPS = "/v1/ops"


def get(backend: RunningBackend, path: str, **params: Any) -> dict[str, Any]:
    answer = backend.http.get(f"{OPS}/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refusal(backend: RunningBackend, path: str, **params: Any) -> dict[str, Any]:
    answer = backend.http.get(f"{OPS}/{path}", params=params)
    assert answer.status_code == 422, answer.text
    return dict(answer.json()["detail"])


def row(backend: RunningBackend, job_id: str) -> dict[str, Any]:
    return dict(get(backend, f"jobs/{job_id}")["job"])


def wait_for_state(backend: RunningBackend, job_id: str, state: str) -> dict[str, Any]:
    return wait_until(
        lambda: seen if (seen := row(backend, job_id))["state"] == state else None,
        what=f"job {job_id} is {state}",
    )


@pytest.fixture(scope="module")
def finished(backend: RunningBackend) -> list[str]:
    """Five finished jobs of a queue of their own, oldest first."""
    ids = [backend.submit({"name": "only", "seconds": 0}, queue="finished") for _ in range(5)]
    for job_id in ids:
        backend.wait_for(job_id, "success")
    return ids


# The list.


def test_pages_walk_the_list_once_newest_first(backend: RunningBackend, finished: list[str]) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = get(backend, "jobs", limit=2, **cursor)
        schemas.JobPage.model_validate(page)
        seen += [one["job_id"] for one in page["jobs"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert len(seen) == len(set(seen)) == page["total"] == page["matching"]
    assert [job_id for job_id in seen if job_id in finished] == finished[::-1]


def test_a_list_is_filtered_and_sorted_by_the_server(backend: RunningBackend, finished: list[str]) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        query = {"filter": "queue:finished state:done", "sort": "accepted", "limit": 2}
        page = get(backend, "jobs", **query, **cursor)
        assert page["matching"] == 5
        seen += [one["job_id"] for one in page["jobs"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == finished


@pytest.mark.parametrize("sort", ["state", "-state", "slack", "-slack"])
@pytest.mark.parametrize("text", ["", "queue:finished,{}"], ids=["all", "filtered"])
def test_orders_that_ask_dask_are_one_list_of_unfinished_and_finished_jobs(
    backend: RunningBackend, finished: list[str], sort: str, text: str
) -> None:
    backend.http.post(f"{OPS}/queues/{sort}/pause", json={})
    waiting = [backend.submit({"name": "s"}, queue=sort, deadline_seconds=900 + n) for n in range(3)]
    rows = 2 if sort.endswith("state") else 500  # the forecast may change from page to page
    seen: list[dict[str, Any]] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = get(backend, "jobs", sort=sort, filter=text.format(sort), limit=rows, **cursor)
        seen += page["jobs"]
        cursor = {"cursor": page["next"]} if page["next"] is not None else None
    assert len({one["job_id"] for one in seen}) == len(seen) == page["matching"]
    assert text or page["matching"] == page["total"]
    assert {*finished, *waiting} <= {one["job_id"] for one in seen}
    assert not text or {one["queue"] for one in seen} == {"finished", sort}
    sign = -1 if sort.startswith("-") else 1
    if sort.endswith("state"):
        ranks = [sign * list(State).index(State(one["state"])) for one in seen]
        assert ranks == sorted(ranks)
    else:
        told = [one["slack"] is not None for one in seen]
        assert told == sorted(told, reverse=True), "those without a value come last"
    for job_id in waiting:
        backend.act(job_id, "cancel")
    backend.http.post(f"{OPS}/queues/{sort}/resume", json={})


def test_what_cannot_be_listed_is_refused_in_words(backend: RunningBackend) -> None:
    assert "agent, epoch, id" in refusal(backend, "jobs", filter="colour:red")["message"]
    assert "accepted, left" in refusal(backend, "jobs", sort="beauty")["message"]
    for cursor in ("nonsense", "bnVsbA==", "WzFd"):
        assert "cursor" in refusal(backend, "jobs", cursor=cursor)["message"]
    for limit in (0, 1001):
        assert refusal(backend, "jobs", limit=limit)["code"] == "invalid_input"


def test_a_cursor_of_another_order_is_refused(backend: RunningBackend, finished: list[str]) -> None:
    cursor = get(backend, "jobs", limit=1)["next"]
    assert "cursor" in refusal(backend, "jobs", sort="id", cursor=cursor)["message"]


# One job.


def test_a_number_too_large_for_the_database_is_refused(backend: RunningBackend, finished: list[str]) -> None:
    huge = 1 << 63
    job_id = finished[0]
    answers = [
        backend.http.get(f"/v1/jobs/async/job/{job_id}/stream/{huge}"),
        backend.http.get(f"/v1/jobs/async/job/{job_id}/stream", headers={"Last-Event-ID": "9" * 18}),
        backend.http.get(f"{OPS}/audit", params={"after": huge}),
        backend.http.post(f"{OPS}/jobs/{job_id}/cancel", json={"version": huge}),
        backend.http.post(f"{OPS}/jobs/{job_id}/resume", json={"version": -1}),
    ]
    assert [answer.status_code for answer in answers] == [422, 200, 422, 422, 422]


def test_a_detail_has_request_transitions_attempts_and_stages_with_evidence(
    backend: RunningBackend, finished: list[str]
) -> None:
    detail = get(backend, f"jobs/{finished[0]}")
    schemas.JobDetail.model_validate(detail)
    assert detail["job"]["state"] == "succeeded"
    assert detail["request"]["agent_type"] == "probe"
    assert [one["name"] for one in detail["transitions"]] == ["submitted", "started", "succeeded"]
    assert [one["end_reason"] for one in detail["attempts"]] == ["succeeded"]
    assert [one["node"] for one in detail["stages"]] == ["only"]
    assert len(detail["stages"][0]["output_hash"]) == 64
    assert detail["why"]["code"] == "finished"


def test_an_unknown_job_is_404_for_every_route(backend: RunningBackend) -> None:
    for path in ("jobs/nobody", "jobs/nobody/why"):
        answer = backend.http.get(f"{OPS}/{path}")
        assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "not_found")
    for act in ("cancel", "expire", "resume"):
        answer = backend.act("nobody", act)
        assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "not_found")


def test_waiting_queued_and_running_are_told_apart_with_the_reason(backend: RunningBackend) -> None:
    stage = {"name": "slow", "seconds": 30}
    ids = [backend.submit(stage, queue="apart", deadline_seconds=600) for _ in range(3)]
    dependent = backend.submit(stage, queue="apart", after=ids[:1])
    wait_until(
        lambda: sorted(row(backend, job_id)["state"] for job_id in ids) == ["queued", "running", "running"],
        what="two jobs run and one is queued",
    )
    assert row(backend, dependent)["state"] == "waiting"
    reasons = {job_id: get(backend, f"jobs/{job_id}/why") for job_id in [*ids, dependent]}
    for reason in reasons.values():
        schemas.Why.model_validate(reason)
    assert sorted(reasons[job_id]["code"] for job_id in ids) == ["queued", "running", "running"]
    assert reasons[dependent]["code"] == "dependency"
    assert reasons[dependent]["data"]["waits_for"] == ids[:1]
    # Its predecessor's cancel lets it go on to its own end: the policy is that predecessors succeed.
    for job_id in [*ids, dependent]:
        assert backend.act(job_id, "cancel").status_code == 200
    wait_until(lambda: not any(row(backend, job_id)["slot_taken"] for job_id in ids), what="slots are free")


# The acts.


def test_r36_an_act_on_a_row_that_changed_is_refused_and_shows_the_new_row(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "slow", "seconds": 30}, deadline_seconds=600)
    seen = wait_for_state(backend, job_id, "running")["version"]
    stale = backend.act(job_id, "cancel", version=seen - 1, reason="too slow")
    detail = stale.json()["detail"]
    assert (stale.status_code, detail["code"]) == (409, "changed")
    schemas.JobRow.model_validate(detail["current"])
    assert (detail["current"]["version"], detail["current"]["state"]) == (seen, "running")
    answer = backend.act(job_id, "cancel", version=seen, reason="too slow")
    assert answer.status_code == 200
    schemas.JobRow.model_validate(answer.json())
    assert answer.json()["state"] == "cancelled"
    assert answer.json()["cancel_requested_at"] is not None
    wait_until(lambda: row(backend, job_id)["cancel_acknowledged_at"], what="the worker acknowledges")
    late = backend.http.post(f"{OPS}/jobs/{job_id}/cancel")  # an act needs no body
    assert (late.status_code, late.json()["detail"]["code"]) == (409, "not_eligible")
    acts = [one for one in audit(backend) if one["job_id"] == job_id]
    assert [(one["version"], one["reason"], one["result"]) for one in acts] == [
        (seen - 1, "too slow", "refused: changed"),
        (seen, "too slow", "cancel requested"),
        (None, None, "refused: not_eligible"),
    ]


def audit(backend: RunningBackend) -> list[dict[str, Any]]:
    page = get(backend, "audit", limit=1000)
    schemas.Audit.model_validate(page)
    return list(page["acts"])


def test_an_expired_job_needs_a_grant_before_its_resume(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "slow", "seconds": 1.2}, deadline_seconds=0.5)
    wait_for_state(backend, job_id, "expired")
    refused = backend.act(job_id, "resume")
    assert (refused.status_code, refused.json()["detail"]["code"]) == (409, "deadline_passed")
    old = row(backend, job_id)["deadline"]
    granted = backend.act(job_id, "grant", extend_seconds=60, reason="the customer waits")
    assert granted.status_code == 200
    assert granted.json()["deadline"] > old
    wait_until(lambda: not row(backend, job_id)["slot_taken"], what="the old attempt has ended")
    assert backend.act(job_id, "resume").status_code == 200
    backend.wait_for(job_id, "success")


def test_a_number_too_large_for_the_database_is_refused_in_words(
    backend: RunningBackend, finished: list[str]
) -> None:
    assert backend.http.get(f"{OPS}/audit", params={"after": 10**30}).status_code == 422
    assert backend.act(finished[0], "cancel", version=10**30).status_code == 422


def test_a_grant_names_one_window(backend: RunningBackend, finished: list[str]) -> None:
    for body in ({}, {"deadline": "2030-01-01T00:00:00Z", "extend_seconds": 5}, {"deadline": "tomorrow"}):
        assert backend.act(finished[0], "grant", **body).status_code == 422
    assert backend.act(finished[0], "grant", extend_seconds=5).status_code == 409


def test_a_deadline_that_no_calendar_can_write_is_never_granted(backend: RunningBackend) -> None:
    job_id = backend.submit(
        deadline="9999-12-31T23:59:59Z", after=[backend.submit({"name": "a", "seconds": 2})]
    )
    refused = backend.act(job_id, "grant", extend_seconds=1)
    assert (refused.status_code, refused.json()["detail"]["code"]) == (422, "invalid_input")
    assert row(backend, job_id)["deadline"] == "9999-12-31T23:59:59Z"
    assert get(backend, "jobs")["jobs"], "one job's deadline never takes the list away"
    backend.wait_for(job_id, "success")


def test_a_paused_queue_keeps_its_jobs_in_the_backlog_and_says_so(backend: RunningBackend) -> None:
    paused = backend.http.post(f"{OPS}/queues/nightly/pause", json={"reason": "maintenance"})
    assert paused.status_code == 200
    schemas.QueueView.model_validate(paused.json())
    job_id = backend.submit({"name": "only", "seconds": 0}, queue="nightly")
    assert row(backend, job_id)["state"] == "backlog"
    assert get(backend, f"jobs/{job_id}/why")["code"] == "paused"
    assert get(backend, "overview")["paused"] == ["nightly"]
    queue = next(one for one in get(backend, "queues")["queues"] if one["name"] == "nightly")
    assert (queue["paused"], queue["paused_by"]) == (True, "operator")
    assert backend.http.post(f"{OPS}/queues/nightly/resume", json={}).json()["paused"] is False
    backend.wait_for(job_id, "success")


def test_a_queue_that_nobody_knows_is_not_unpaused_and_its_refusal_names_those_there_are(
    backend: RunningBackend, finished: list[str]
) -> None:
    refused = backend.http.post(f"{OPS}/queues/prode/resume", json={})
    assert refused.status_code == 404
    detail = refused.json()["detail"]
    assert detail["code"] == "not_found"
    assert "there is no queue prode; the queues are: " in detail["message"]
    assert "finished" in detail["known"]
    assert "prode" not in detail["known"]
    newest = get(backend, "audit", newest=True, limit=1)["acts"][0]
    assert (newest["act"], newest["result"]) == ("unpause", "refused: not_found, queue prode")


def test_a_queue_paused_before_its_first_job_says_that_it_had_none(backend: RunningBackend) -> None:
    assert backend.http.post(f"{OPS}/queues/early/pause", json={}).json()["jobs"] == 0
    opened = backend.http.post(f"{OPS}/queues/early/resume", json={})
    assert (opened.status_code, opened.json()["paused"]) == (200, False)
    job_id = backend.submit(queue="early")
    backend.wait_for(job_id, "success")
    listed = {one["name"]: one["jobs"] for one in get(backend, "queues")["queues"]}
    assert listed["early"] == 1


# The whole.


def test_the_overview_counts_every_state(backend: RunningBackend, finished: list[str]) -> None:
    overview = get(backend, "overview")
    schemas.Overview.model_validate(overview)
    assert overview["scheduler"]["state"] == "up"
    assert overview["counts"]["succeeded"] >= 5
    assert overview["service_times"]["probe"]["n"] >= 5
    assert overview["recovery"]["epoch"] == 1


def test_every_workflow_is_listed_also_the_probe(backend: RunningBackend) -> None:
    listed = get(backend, "workflows")
    schemas.Workflows.model_validate(listed)
    assert {one["name"]: one["public"] for one in listed["workflows"]}["probe"] is False


def test_the_openapi_document_describes_every_answer_of_the_operations_api(backend: RunningBackend) -> None:
    document = backend.http.get("/openapi.json").json()
    routes = {path: verbs for path, verbs in document["paths"].items() if path.startswith(OPS)}
    assert len(routes) >= 17
    for path, verbs in routes.items():
        for verb, route in verbs.items():
            good = next(answer for code, answer in route["responses"].items() if code.startswith("2"))
            described = [content["schema"] for content in good["content"].values()]
            assert all(described), f"{verb} {path} does not say what it answers"
