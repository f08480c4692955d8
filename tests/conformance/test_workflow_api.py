"""The workflow API: both path pairs, shapes, coercion, waiting, and what its peer got wrong under faults."""

import asyncio
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from running_backend import JOBS

from .calling import LEGACY, LICENCE, WORKFLOW, Caller, fresh, probe, seconds

KEYS = ["job_id", "status", "error", "created_at", "updated_at", "expires_at", "output"]
PATHS = pytest.mark.parametrize("path", [WORKFLOW, LEGACY])
WAITERS = 100
LONGEST = 256 - len(fresh(""))
"""Of an id that ``fresh`` makes another one of."""


@PATHS
def test_an_accepted_job_is_202_and_visible_by_both_paths(caller: Caller, path: str) -> None:
    answer = caller.generate(path)
    assert (answer.status_code, list(answer.json())) == (202, ["job_id", "status"])
    assert answer.json()["status"] == "submitted"
    job_id = answer.json()["job_id"]
    caller.wait_for(job_id)
    one, other = caller.generated(job_id).json(), caller.generated(job_id, LEGACY).json()
    assert one == other
    assert list(one) == KEYS


@PATHS
def test_one_that_ends_in_time_is_200_with_its_result(caller: Caller, path: str) -> None:
    answer = caller.generate(path, sync_timeout=20, input_message=probe({"name": "one"}, output="text"))
    body = answer.json()
    assert (answer.status_code, list(body)) == (200, KEYS)
    assert (body["status"], body["error"], body["output"]) == ("success", None, {"value": "text"})
    kept = datetime.fromisoformat(body["expires_at"]) - datetime.fromisoformat(body["updated_at"])
    assert kept.total_seconds() == 3600
    assert all(body[name].endswith("Z") for name in ("created_at", "updated_at", "expires_at"))


def test_a_failure_in_time_is_200_too(caller: Caller) -> None:
    answer = caller.generate(sync_timeout=20, input_message=probe({"name": "bad", "fail": True}))
    body = answer.json()
    assert (answer.status_code, body["status"], body["output"]) == (200, "failure", None)
    assert "asked to fail" in body["error"]
    assert body["expires_at"] is not None


def test_r5_sync_timeout_only_limits_how_long_the_answer_waits(caller: Caller) -> None:
    begun = time.monotonic()
    answer = caller.generate(sync_timeout=1, input_message=probe({"name": "long", "seconds": 60}))
    assert (answer.status_code, answer.json()["status"]) == (202, "submitted")
    assert 1 <= time.monotonic() - begun < 3
    job_id = answer.json()["job_id"]
    assert caller.generated(job_id).json()["status"] in {"submitted", "running"}
    caller.cancel(job_id)
    body = caller.generated(job_id).json()
    assert (body["status"], body["output"]) == ("interrupted", None)


def test_r5_a_hundred_waiters_keep_nobody_waiting(caller: Caller) -> None:
    held = caller.submit({"name": "long", "seconds": 60})

    async def wait(http: httpx.AsyncClient) -> int:
        body = {"workflow": "probe", "input_message": "{}", "after": [held], "after_policy": "finished"}
        return (await http.post(WORKFLOW, json={**body, "sync_timeout": 30})).status_code

    async def run() -> tuple[list[int], list[float]]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=caller.http.base_url, timeout=40, limits=limits) as http:
            waiting = [asyncio.create_task(wait(http)) for _ in range(WAITERS)]
            while (await http.get("/v1/ops/overview")).json()["streams"]["subscribers"] < WAITERS:
                assert not any(one.done() for one in waiting)
            took = []
            for _ in range(30):
                begun = time.monotonic()
                assert (await http.get("/health")).status_code == 200
                took.append(time.monotonic() - begun)
            await http.post(f"{JOBS}/job/{held}/cancel")
            return await asyncio.gather(*waiting), took

    codes, took = asyncio.run(run())
    assert codes == [200] * WAITERS
    assert statistics.median(took) < 0.05, took


@pytest.mark.parametrize(
    ("field", "value", "taken"),
    [
        ("sync_timeout", "0", None),
        ("sync_timeout", 0.0, None),
        ("sync_timeout", True, None),
        ("expiry_seconds", "900", 900),
        ("expiry_seconds", 900.0, 900),
        ("expiry_seconds", 86_400, 86_400),
        ("job_id", None, None),
    ],
)
def test_values_are_taken_in_lax_mode(caller: Caller, field: str, value: Any, taken: int | None) -> None:
    answer = caller.generate(**{"sync_timeout": 20, field: value})
    assert answer.status_code in {200, 202}
    if taken is not None:
        body = answer.json()
        kept = datetime.fromisoformat(body["expires_at"]) - datetime.fromisoformat(body["updated_at"])
        assert kept.total_seconds() == taken


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("expiry_seconds", 900.5, "int_from_float"),
        ("expiry_seconds", None, "int_type"),
        ("expiry_seconds", 599, "greater_than_equal"),
        ("expiry_seconds", 86_401, "less_than_equal"),
        ("sync_timeout", 301, "less_than_equal"),
        ("sync_timeout", -1, "greater_than_equal"),
        ("job_id", 7, "string_type"),
        ("job_id", True, "string_type"),
        ("job_id", ["a"], "string_type"),
        ("input_message", 7, "string_type"),
        ("input_message", None, "missing"),
    ],
)
def test_a_field_that_cannot_be_used_is_422_in_pydantics_shape(
    caller: Caller, field: str, value: Any, kind: str
) -> None:
    answer = caller.generate(**{field: value})
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert list(problem)[:4] == ["type", "loc", "msg", "input"]
    assert set(problem) <= {"type", "loc", "msg", "input", "ctx"}
    assert (problem["type"], problem["loc"]) == (kind, ["body", field])
    if kind != "missing":
        assert problem["input"] == value


@pytest.mark.parametrize(
    "job_id",
    ["", ".", "..", "a/b", "../../etc/passwd", "x\ny", "x\x00y", "x\x7fy", "x\u200by", "x\u202ey", "x" * 257],
    ids=repr,
)
def test_an_id_that_a_path_cannot_carry_is_422_and_nothing_is_stored(caller: Caller, job_id: str) -> None:
    answer = caller.generate(job_id=job_id)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "job_id"]


@pytest.mark.parametrize(
    "job_id",
    [
        " lead and trail ",
        "a?b#c%2Fd&e=f",
        "ünïcödé-日本語-\U0001f600",
        '"quoted"\'',
        "<script>",
        "{braces}\\",
        "x" * LONGEST,
        "\U0001f600" * LONGEST,
    ],
    ids=lambda one: repr(one[:20]),
)
def test_any_other_id_is_served_by_every_route(caller: Caller, job_id: str) -> None:
    job_id = fresh(job_id)
    stages = probe({"name": "one", "artifact_bytes": 10}, output="done")
    answer = caller.generate(job_id=job_id, sync_timeout=20, input_message=stages)
    assert (answer.status_code, answer.json()["job_id"]) == (200, job_id)
    assert caller.generated(job_id).json() == answer.json()
    assert caller.get(job_id).json()["job_id"] == job_id
    assert caller.events(job_id)[-1].data["status"] == "success"
    (file,) = caller.get(job_id, "/artifacts").json()["artifacts"]
    assert len(caller.http.get(file["content_url"]).content) == 10
    assert caller.get(job_id, "/report").json()["report"] == "done"
    assert caller.cancel(job_id).json() == {"detail": f"Job not running: {job_id} (status: success)"}
    for_operators = f"/v1/ops/jobs/{quote(job_id, safe='')}"
    assert caller.http.get(for_operators).json()["job"]["job_id"] == job_id
    assert caller.http.get("/v1/ops/audit", params={"job_id": job_id}).status_code == 200
    assert caller.http.get(f"{for_operators}/bundle").headers["content-type"] == "application/gzip"
    assert caller.ask(after=[job_id]).status_code == 202


def test_ids_differ_by_case_and_space(caller: Caller) -> None:
    name = fresh("Case")
    codes = [caller.generate(job_id=one).status_code for one in (name, name.lower(), f"{name} ", f" {name}")]
    assert codes == [202] * 4


def test_a_known_id_is_200_starts_nothing_and_says_whether_the_request_was_the_same(caller: Caller) -> None:
    job_id = fresh()
    first = {"job_id": job_id, "input_message": probe(output=1), "sync_timeout": 20}
    stored = caller.generate(**first).json()
    for changes, matches in (
        ({}, True),
        ({"input_message": probe(output=2)}, False),
        ({"expiry_seconds": 700}, True),
    ):
        answer = caller.generate(**first | changes)
        assert answer.status_code == 200
        assert answer.json() == {"job_id": job_id, "status": "success", "request_matches": matches}
        assert list(answer.json())[:2] == ["job_id", "status"]
    assert caller.generated(job_id).json() == stored


def test_sixteen_at_once_with_one_id_are_one_202_and_fifteen_200(caller: Caller) -> None:
    job_id = fresh()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: caller.generate(job_id=job_id), range(16)))
    assert sorted(answer.status_code for answer in answers) == [200] * 15 + [202]
    assert all(answer.json().get("request_matches", True) for answer in answers)
    assert caller.wait_for(job_id)["attempt"] == 1


def test_without_a_name_the_default_workflow_runs_and_its_text_is_the_value(caller: Caller) -> None:
    answer = caller.http.post(WORKFLOW, json={"input_message": LICENCE, "sync_timeout": 20})
    output = answer.json()["output"]
    assert output["value"].startswith("# Licence review")
    assert output["data"]["title"]
    assert caller.get(answer.json()["job_id"]).json()["agent_type"] == "contract_review"


def test_an_object_is_given_as_it_is(caller: Caller) -> None:
    wanted = {"a": 1, "b": [True, None]}
    answer = caller.generate(sync_timeout=20, input_message=probe(output=wanted))
    assert answer.json()["output"] == wanted


def test_an_expired_job_says_so(caller: Caller) -> None:
    asked = {"input_message": probe({"name": "long", "seconds": 60}), "deadline_seconds": 0.5}
    body = caller.generate(sync_timeout=20, **asked).json()
    assert body["status"] == "interrupted"
    assert body["error"].startswith("expired:")


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "loc"),
    [
        (b'{"input_message":', "application/json", "json_invalid", ["body", 17]),
        (b"{} {}", "application/json", "json_invalid", ["body", 3]),
        (b"[]", "application/json", "model_attributes_type", ["body"]),
        (b'{"input_message": "x"}', "text/plain", "model_attributes_type", ["body"]),
        (b'{"input_message": "x"}', "application/x-www-form-urlencoded", "model_attributes_type", ["body"]),
        (b'{"input_message": "x"}', None, "model_attributes_type", ["body"]),
        (b'{"input_message": "x", "sync_timeout": NaN}', "application/json", None, ["body", "sync_timeout"]),
        (
            b'{"input_message": "x", "sync_timeout": 1e400}',
            "application/json",
            None,
            ["body", "sync_timeout"],
        ),
    ],
)
def test_a_body_that_is_no_request_is_422_in_pydantics_shape(
    caller: Caller, body: bytes, content_type: str | None, kind: str | None, loc: list[Any]
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    answer = caller.http.post(WORKFLOW, content=body, headers=headers)
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert (kind or problem["type"], problem["loc"]) == (problem["type"], loc)
    if kind == "model_attributes_type":
        assert problem["input"] in ([], body.decode())


def test_a_body_that_is_not_utf_8_is_400(caller: Caller) -> None:
    body, headers = b'{"input_message": "\xff"}', {"content-type": "application/json"}
    answer = caller.http.post(WORKFLOW, content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (400, {"detail": "There was an error parsing the body"})


@PATHS
def test_an_unknown_job_is_404_and_other_methods_are_405_in_json(caller: Caller, path: str) -> None:
    answer = caller.generated("no such job", path)
    assert (answer.status_code, answer.json()) == (404, {"detail": "Job no such job not found"})
    assert caller.http.delete(f"{path}/job/x").json() == {"detail": "Method Not Allowed"}
    assert caller.http.head(f"{path}/job/x").status_code == 405
    for missing in ("/jobs", "/job/x/cancel", "/job/", "/job/a%2Fb"):
        answer = caller.http.get(path + missing)
        assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})


def test_no_answer_waits_for_another_ones_input(caller: Caller) -> None:
    large = "x" * 900_000
    took = seconds(lambda: caller.generate(workflow="portfolio", input_message=large))
    assert took < 5
    assert caller.generate(workflow="portfolio", input_message=large * 2).status_code == 413
