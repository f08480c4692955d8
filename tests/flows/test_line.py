"""An operator moves jobs in the line, submits one again, and reads who did what (R36)."""

from collections.abc import Iterator

import httpx
import pytest
from jobdeck_backend.api import schemas
from running_backend import RunningBackend, wait_until


@pytest.fixture
def paused(backend: RunningBackend) -> Iterator[str]:
    """A queue whose jobs wait in the backlog."""
    backend.http.post("/v1/ops/queues/line/pause", json={}).raise_for_status()
    yield "line"
    backend.http.post("/v1/ops/queues/line/resume", json={}).raise_for_status()


def row(backend: RunningBackend, job_id: str) -> schemas.JobRow:
    detail = backend.http.get(f"/v1/ops/jobs/{job_id}").json()
    return schemas.JobRow.model_validate(detail["job"])


def audit(backend: RunningBackend, **asked: object) -> schemas.Audit:
    answer = backend.http.get("/v1/ops/audit", params={key: str(value) for key, value in asked.items()})
    assert answer.status_code == 200, answer.text
    return schemas.Audit.model_validate(answer.json())


def clone(backend: RunningBackend, job_id: str, new_id: str) -> httpx.Response:
    return backend.http.post(f"/v1/ops/jobs/{job_id}/clone", json={"job_id": new_id})


def test_a_job_moved_up_in_the_backlog_starts_before_its_equals(backend: RunningBackend, paused: str) -> None:
    first, second, third = (backend.submit({"name": "one", "seconds": 0.3}, queue=paused) for _ in range(3))
    moved = backend.act(third, "priority", priority=5, version=row(backend, third).version, reason="urgent")
    assert moved.status_code == 200, moved.text
    assert moved.json()["priority"] == 5
    assert moved.json()["version"] == 2
    refused = backend.act(second, "priority", priority=9, version=77)
    assert (refused.status_code, refused.json()["detail"]["code"]) == (409, "changed")
    backend.http.post(f"/v1/ops/queues/{paused}/resume", json={}).raise_for_status()
    for job_id in (first, second, third):
        backend.wait_for(job_id, "success")
    started = {job_id: backend.attempts(job_id)[0].started_at for job_id in (first, second, third)}
    assert started[third] < started[second]
    late = backend.act(third, "priority", priority=0)
    assert (late.status_code, late.json()["detail"]["code"]) == (409, "not_eligible")
    assert "has ended (succeeded): it has no place in the line" in late.json()["detail"]["message"]
    assert backend.act(first, "priority", priority=1001).status_code == 422


def test_a_job_that_dask_holds_already_is_moved_too(backend: RunningBackend) -> None:
    busy = [backend.submit({"name": "long", "seconds": seconds}) for seconds in (1.5, 3)]
    for job_id in busy:
        backend.wait_for_stage(job_id, "long")
    first, second = (backend.submit({"name": "one", "seconds": 0.3}) for _ in range(2))
    wait_until(lambda: row(backend, second).state == "queued", what="Dask holds it")
    assert backend.act(second, "priority", priority=10).status_code == 200
    for job_id in (first, second):
        backend.wait_for(job_id, "success")
        assert len(backend.attempts(job_id)) == 1
    assert backend.attempts(second)[0].started_at < backend.attempts(first)[0].started_at


def test_a_clone_is_the_same_request_as_a_job_of_its_own(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "one"}, output="said", queue="clones", deadline_seconds=600, priority=3)
    backend.wait_for(job_id, "success")
    answer = backend.act(job_id, "clone", reason="once more")
    assert answer.status_code == 202, answer.text
    new = schemas.JobRow.model_validate(answer.json())
    assert new.job_id != job_id
    assert (new.queue, new.priority, new.thread_id) == ("clones", 3, new.job_id)
    assert new.left is not None
    assert 590 < new.left <= 600
    assert backend.wait_for(new.job_id)["outcome"] == "succeeded"
    assert backend.record(new.job_id).output == backend.record(job_id).output
    (act,) = audit(backend, act="clone", job_id=job_id).acts
    assert (act.reason, act.result) == ("once more", f"submitted again as {new.job_id}")
    assert clone(backend, job_id, "named").json()["job_id"] == "named"
    taken = clone(backend, job_id, "named")
    assert (taken.status_code, taken.json()["detail"]["code"]) == (409, "job_exists")
    assert backend.act("nobody", "clone").status_code == 404
    backend.wait_for("named")


def test_i20_the_audit_is_filtered_and_paged_from_both_ends(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "one"})
    backend.wait_for(job_id, "success")
    for _ in range(3):
        assert backend.act(job_id, "cancel").status_code == 409
    found = audit(backend, job_id=job_id, refused=True).acts
    assert [act.result for act in found] == ["refused: not_eligible"] * 3
    assert audit(backend, job_id=job_id, refused=False).acts == []
    newest = audit(backend, newest=True, job_id=job_id, limit=2)
    assert [act.id for act in newest.acts] == [found[2].id, found[1].id]
    rest = audit(backend, newest=True, job_id=job_id, limit=2, before=newest.next)
    assert [act.id for act in rest.acts] == [found[0].id]
    assert rest.next is None
    assert audit(backend, act="cancel", actor="operator", after=found[1].id).acts[0].id == found[2].id
    assert audit(backend, actor="nobody").acts == []
