"""The jobs API, route by route: every field, code and body of the contract."""

from datetime import datetime

import pytest
from running_backend import JOBS

from .calling import LICENCE, Caller, fresh, probe

STATUS_KEYS = ["job_id", "status", "agent_type", "error", "created_at"]
ADDED_KEYS = {"outcome", "deadline", "thread_id", "attempt", "started_at", "finished_at", "worker"}


def test_submit_answers_202_with_every_key(caller: Caller) -> None:
    job_id = fresh()
    answer = caller.ask(
        job_id=job_id, expiry_seconds=None, data_sources=None, deadline_seconds=60, unknown="ignored"
    )
    assert answer.status_code == 202
    body = answer.json()
    assert list(body) == [*STATUS_KEYS, "deadline"]
    assert (body["job_id"], body["status"], body["agent_type"], body["error"]) == (
        job_id,
        "submitted",
        "probe",
        None,
    )
    assert body["created_at"].endswith("+00:00")
    assert caller.ask(job_id=None).json()["job_id"] != caller.ask().json()["job_id"]


@pytest.mark.parametrize(
    "written", ["2099-01-31T12:00:00Z", "2099-01-31t12:00:00.000z", "2099-01-31T14:30:00+02:30"]
)
def test_a_deadline_is_taken_in_every_spelling_of_rfc_3339(caller: Caller, written: str) -> None:
    assert caller.ask(deadline=written).json()["deadline"] == "2099-01-31T12:00:00+00:00"


def test_status_has_the_contracts_keys_first_and_times_with_an_offset(caller: Caller) -> None:
    job_id = caller.submit(deadline_seconds=60)
    body = caller.wait_for(job_id)
    assert list(body)[:5] == STATUS_KEYS
    assert set(body) == {*STATUS_KEYS, *ADDED_KEYS}
    assert (body["status"], body["outcome"]) == ("success", "succeeded")
    for name in ("created_at", "deadline", "started_at", "finished_at"):
        assert body[name].endswith("+00:00")
        datetime.fromisoformat(body[name])


@pytest.mark.parametrize("expiry_seconds", [600, 604_800, None])
def test_expiry_seconds_is_kept_as_given_and_counts_from_the_end(
    caller: Caller, expiry_seconds: int | None
) -> None:
    job_id = caller.submit(expiry_seconds=expiry_seconds)
    caller.wait_for(job_id)
    body = caller.generated(job_id).json()
    kept = datetime.fromisoformat(body["expires_at"]) - datetime.fromisoformat(body["updated_at"])
    assert kept.total_seconds() == (expiry_seconds or 86_400)


@pytest.mark.parametrize(
    "body",
    [
        {"input": " \n"},
        {"input": None},
        {"agent_type": None},
        {"job_id": "a/b"},
        {"job_id": ".."},
        {"job_id": "x" * 65},
        {"expiry_seconds": 599},
        {"expiry_seconds": 604_801},
        {"deadline_seconds": 0},
        {"deadline": "tomorrow"},
        {"deadline": "2000-01-01T00:00:00Z"},
        {"admission": "perhaps"},
        {"admission": "strict"},
        {"after": ["no-such-job"]},
        {"after_policy": "never"},
        {"data_sources": "document"},
    ],
    ids=repr,
)
def test_a_field_that_cannot_be_used_is_422(caller: Caller, body: dict) -> None:
    answer = caller.ask(**body)
    assert answer.status_code == 422, answer.text
    assert list(answer.json()) == ["detail"]


@pytest.mark.parametrize("name", ["no_such_workflow", "report_rewriter"])
def test_an_unknown_or_internal_workflow_is_400_and_names_the_public_ones(caller: Caller, name: str) -> None:
    answer = caller.ask(agent_type=name)
    assert answer.status_code == 400
    detail = answer.json()["detail"]
    assert set(detail) == {"code", "message", "known"}
    agents = caller.http.get(f"{JOBS}/agents").json()["agents"]
    assert all(set(one) >= {"agent_type", "description"} for one in agents)
    assert (detail["code"], detail["known"]) == ("unknown_agent_type", [one["agent_type"] for one in agents])


def test_a_known_id_is_409_and_says_whether_the_request_was_the_same(caller: Caller) -> None:
    first, second = caller.submit(), caller.submit()
    job_id = fresh()
    request = {"job_id": job_id, "after": [first, second], "data_sources": []}
    assert caller.ask(**request).status_code == 202
    stored = caller.wait_for(job_id)
    for changed, matches in (
        ({}, True),
        ({"after": [second, first, second]}, True),
        ({"after": [first]}, False),
    ):
        answer = caller.ask(**request | changed)
        assert answer.status_code == 409
        assert answer.json() == {"detail": f"Job already exists: {job_id}", "request_matches": matches}
    assert caller.get(job_id).json() == stored


def test_data_sources_are_listed_and_a_bad_one_is_told_with_three_lists(caller: Caller) -> None:
    sources = caller.http.get("/v1/data_sources").json()
    keys = {"id", "name", "description", "default_enabled", "requires_auth", "per_user_auth"}
    assert [set(one) for one in sources] == [keys] * len(sources)
    document = sources[0]["id"]
    asked = {"agent_type": "contract_review", "input": LICENCE}
    for accepted in (None, [], [document.upper()]):
        assert caller.ask(**asked, data_sources=accepted).status_code == 202
    known = [one["id"] for one in sources]
    for wrong, invalid, unavailable in (
        ({**asked, "data_sources": ["web", document]}, ["web"], []),
        ({"data_sources": [document]}, [], [document]),
    ):
        answer = caller.ask(**wrong)
        assert answer.status_code == 422
        detail = answer.json()["detail"]
        assert list(detail) == ["message", "invalid_ids", "unavailable_for_agent", "known_ids"]
        assert (detail["invalid_ids"], detail["unavailable_for_agent"], detail["known_ids"]) == (
            invalid,
            unavailable,
            known,
        )


def test_a_strict_deadline_that_cannot_be_met_is_409_with_an_offer_that_holds(caller: Caller) -> None:
    job_id = fresh()
    asked = {"job_id": job_id, "admission": "strict", "agent_type": "portfolio", "input": "one"}
    refused = caller.ask(**asked, deadline_seconds=0.001)
    assert refused.status_code == 409, refused.text
    detail = refused.json()["detail"]
    assert detail["code"] == "deadline_unattainable"
    assert datetime.fromisoformat(detail["predicted_completion"]) > datetime.fromisoformat(detail["deadline"])
    assert detail["offer"]["deadline"].endswith("+00:00")
    assert caller.get(job_id).status_code == 404, "nothing is stored"
    assert caller.ask(**asked, deadline=detail["offer"]["deadline"]).status_code == 202


def test_unknown_jobs_are_404_everywhere(caller: Caller) -> None:
    for what in ("", "/stream", "/stream/5", "/state", "/report"):
        answer = caller.get("no-such-job", what)
        assert (answer.status_code, answer.json()) == (404, {"detail": "Job not found: no-such-job"})
    assert caller.cancel("no-such-job").status_code == 404
    edit = caller.http.post(f"{JOBS}/job/no-such-job/report/edit", json={"input": "shorter"})
    assert (edit.status_code, edit.json()) == (404, {"detail": "Job not found: no-such-job"})


def test_i12_cancel_answers_what_it_did(caller: Caller) -> None:
    running = caller.submit({"name": "long", "seconds": 60})
    caller.wait_for(running, "running")
    waiting = caller.submit(after=[running])
    for job_id, untouched in ((waiting, True), (running, False)):
        answer = caller.cancel(job_id)
        assert (answer.status_code, answer.json()) == (
            200,
            {"job_id": job_id, "status": "interrupted", "task_cancelled": untouched},
        )
        assert "cancelled by user" in caller.get(job_id).json()["error"]
    again = caller.cancel(running)
    assert (again.status_code, again.json()) == (
        400,
        {"detail": f"Job not running: {running} (status: interrupted)"},
    )


def test_an_expired_job_reads_interrupted_and_says_expired(caller: Caller) -> None:
    job_id = caller.submit({"name": "long", "seconds": 60}, deadline_seconds=0.5)
    body = caller.wait_for(job_id)
    assert (body["status"], body["outcome"]) == ("interrupted", "expired")
    assert body["error"].startswith("expired: deadline passed while ")


def test_report_and_its_edit(caller: Caller) -> None:
    parent = caller.ask(agent_type="contract_review", input=LICENCE).json()["job_id"]
    busy = caller.submit({"name": "long", "seconds": 60})
    silent = caller.submit()
    caller.wait_for(parent, "success")
    caller.wait_for(silent, "success")
    before = caller.get(parent, "/report").json()
    assert list(before) == [
        "job_id",
        "has_report",
        "report",
        "parent_job_id",
        "interaction_action",
        "result_kind",
    ]
    assert (before["has_report"], before["parent_job_id"], before["interaction_action"]) == (True, None, None)
    child = fresh("edit")
    edit = caller.http.post(f"{JOBS}/job/{parent}/report/edit", json={"input": "Shorter.", "job_id": child})
    assert (edit.status_code, edit.json()) == (
        200,
        {"job_id": child, "parent_job_id": parent, "status": "submitted", "agent_type": "report_rewriter"},
    )
    caller.wait_for(child, "success")
    after = caller.get(child, "/report").json()
    assert (after["parent_job_id"], after["interaction_action"], after["result_kind"]) == (
        parent,
        "edit",
        "report",
    )
    assert before["report"].strip() in after["report"]
    for of, why in (
        (busy, f"Parent job is not complete: {busy}"),
        (silent, f"Parent job has no durable report: {silent}"),
    ):
        answer = caller.http.post(f"{JOBS}/job/{of}/report/edit", json={"input": "Shorter."})
        assert (answer.status_code, answer.json()) == (409, {"detail": why})
    taken = caller.http.post(f"{JOBS}/job/{parent}/report/edit", json={"input": "Longer.", "job_id": child})
    assert (taken.status_code, taken.json()["detail"]) == (409, f"Job already exists: {child}")
    caller.cancel(busy)


def test_state_is_rebuilt_with_tools_outputs_sources_and_todos(caller: Caller) -> None:
    job_id = caller.ask(agent_type="contract_review", input=LICENCE).json()["job_id"]
    caller.wait_for(job_id, "success")
    body = caller.get(job_id, "/state").json()
    assert (list(body), body["has_state"], body["state"]) == (
        ["job_id", "has_state", "state", "artifacts"],
        True,
        None,
    )
    artifacts = body["artifacts"]
    tool_keys = {"id", "name", "input", "output", "status", "workflow", "is_sandbox", "timestamp"}
    assert all(set(one) == tool_keys for one in artifacts["tools"])
    assert {"type", "content", "name", "workflow", "timestamp"} <= set(artifacts["outputs"][0])
    assert [one["output_category"] for one in artifacts["outputs"]].count("final_report") == 1
    sources = artifacts["sources"]
    assert sources["found"] == len(sources["found_urls"]) > 0
    assert sources["cited"] == len(sources["cited_urls"])
    assert {one["status"] for one in artifacts["todos"]} == {"completed"}
    empty = caller.submit()
    caller.wait_for(empty)
    assert caller.get(empty, "/state").json() == {
        "job_id": empty,
        "has_state": False,
        "state": None,
        "artifacts": None,
    }


def test_live_and_health(caller: Caller) -> None:
    assert caller.http.get("/live").json() == {"status": "alive"}
    health = caller.http.get("/health")
    assert health.status_code == 200
    assert health.json() == {"status": "healthy", "dask_available": True, "db": "ok"}


def test_the_cursor_is_the_path_or_the_header_and_the_greater_counts(caller: Caller) -> None:
    job_id = caller.submit({"name": "talk", "events": 5})
    whole = [frame for frame in caller.events(job_id) if frame.id is not None]
    for path, header, seen in (
        (3, None, 3),
        (None, "3", 3),
        (2, "4", 4),
        (4, "2", 4),
        (10**6, None, len(whole)),
    ):
        headers = {} if header is None else {"Last-Event-ID": header}
        rest = caller.events(job_id, path, **headers)
        assert [frame for frame in rest if frame.id is not None] == whole[seen:]
        assert rest[-1].data["reconnected"] is True
    assert caller.events(job_id, None, **{"Last-Event-ID": ""}) == caller.events(job_id)
    assert caller.get(job_id, "/stream/x").status_code == 422
    assert caller.http.get(f"{JOBS}/job/{job_id}/stream", headers={"Last-Event-ID": "x"}).status_code == 422


def test_a_stored_job_takes_the_input_as_it_came(caller: Caller) -> None:
    text = probe(output="  é \u2028 \U0001f600 ")
    job_id = caller.ask(input=f"\n {text} \t").json()["job_id"]
    caller.wait_for(job_id, "success")
    assert caller.get(job_id, "/report").json()["report"] == "  é \u2028 \U0001f600 "
