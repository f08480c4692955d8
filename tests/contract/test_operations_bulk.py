"""One act on many jobs, from outside: what would come of it, what came of it, and each one on record."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from jobdeck_backend.api import bulk_schemas as schemas
from running_backend import RunningBackend, wait_until

LONG = {"name": "long", "seconds": 60}


def bulk(backend: RunningBackend, **body: Any) -> schemas.BulkAnswer:
    answer = backend.http.post("/v1/ops/jobs/bulk", json=body)
    assert answer.status_code == 200, answer.text
    return schemas.BulkAnswer.model_validate(answer.json())


def row(backend: RunningBackend, job_id: str) -> dict[str, Any]:
    return dict(backend.http.get(f"/v1/ops/jobs/{job_id}").json()["job"])


def audited(backend: RunningBackend, reason: str) -> dict[str, tuple[str, str]]:
    acts = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    return {act["job_id"]: (act["act"], act["result"]) for act in acts if act["reason"] == reason}


@pytest.fixture
def mixed(backend: RunningBackend) -> Iterator[tuple[str, list[str]]]:
    """A queue with one finished job, and three that will not end by themselves."""
    queue = f"bulk-{uuid4().hex[:8]}"
    done = backend.submit({"name": "only", "seconds": 0}, queue=queue)
    backend.wait_for(done, "success")
    open_ids = [backend.submit(LONG, queue=queue) for _ in range(3)]
    wait_until(lambda: backend.overview()["slots"]["taken"] == 2, what="both slots are taken")
    yield queue, [done, *open_ids]
    bulk(backend, act="cancel", filter=f"queue:{queue}")
    wait_until(lambda: backend.overview()["slots"]["taken"] == 0, what="the slots are free again")


def test_a_dry_run_counts_by_eligibility_and_changes_and_audits_nothing(
    backend: RunningBackend, mixed: tuple[str, list[str]]
) -> None:
    queue, ids = mixed
    versions = {job_id: row(backend, job_id)["version"] for job_id in ids}
    said = bulk(backend, act="cancel", filter=f"queue:{queue}", dry_run=True, reason="a dry run")
    assert said.counts == {"eligible": 3, "not_eligible": 1}
    assert {one.job_id for one in said.results if one.ok} == set(ids[1:])
    assert {one.job_id: one.version for one in said.results} == versions
    assert {job_id: row(backend, job_id)["version"] for job_id in ids} == versions
    assert audited(backend, "a dry run") == {}


def test_r36_i20_each_job_has_its_own_result_and_its_own_record_refused_ones_too(
    backend: RunningBackend, mixed: tuple[str, list[str]]
) -> None:
    _queue, (done, first, second, third) = mixed
    stale = row(backend, second)["version"] + 1
    said = bulk(
        backend,
        act="cancel",
        ids=[done, first, second, first, "not-a-job"],
        versions={second: stale, first: row(backend, first)["version"]},
        reason="the wrong batch",
    )
    assert [(one.job_id, one.code, one.ok) for one in said.results] == [
        (done, "not_eligible", False),
        (first, "done", True),
        (second, "changed", False),
        ("not-a-job", "not_found", False),
    ]
    assert said.counts == {"done": 1, "not_eligible": 1, "changed": 1, "not_found": 1}
    assert said.results[1].state == "cancelled"
    assert row(backend, second)["state"] != "cancelled"
    assert row(backend, third)["state"] != "cancelled"
    on_record = audited(backend, "the wrong batch")
    assert on_record[done] == ("cancel", "refused: not_eligible")
    assert on_record[second] == ("cancel", "refused: changed")
    assert on_record[first][1] in {"cancelled", "cancel requested"}
    assert on_record["not-a-job"] == ("cancel", "refused: not_found")


def test_an_overdue_job_is_said_to_need_a_grant_and_runs_again_after_one(
    backend: RunningBackend, mixed: tuple[str, list[str]]
) -> None:
    queue, _ids = mixed
    late = backend.submit(LONG, queue=queue, deadline_seconds=300)
    assert bulk(backend, act="expire", ids=[late]).counts == {"done": 1}
    bulk(backend, act="grant", ids=[late], extend_seconds=60)
    assert bulk(backend, act="resume", ids=[late], dry_run=True).counts == {"eligible": 1}
    assert row(backend, late)["state"] == "expired", "a dry run resumed nothing"
    assert bulk(backend, act="resume", ids=[late]).counts == {"done": 1}
    assert row(backend, late)["outcome"] is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"act": "cancel"}, "give ids or filter"),
        ({"act": "cancel", "ids": ["a"], "filter": ""}, "give ids or filter"),
        ({"act": "grant", "ids": ["a"]}, "extend_seconds"),
        ({"act": "cancel", "filter": "colour:red"}, "agent, epoch, id"),
        ({"act": "delete", "filter": ""}, "act"),
    ],
)
def test_a_bulk_act_that_is_not_clear_is_refused_whole(
    backend: RunningBackend, body: dict[str, Any], words: str
) -> None:
    answer = backend.http.post("/v1/ops/jobs/bulk", json=body)
    assert answer.status_code == 422
    assert words in answer.text
