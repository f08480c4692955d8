"""Old jobs go whole, what may still be needed stays, and whoever reads or submits meanwhile notices nothing."""

import json
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobdeck_backend.commands import operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.store.engine import Database
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend, one_backend
from webhook_listener import listening

OPS = "/v1/ops"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    with one_backend(
        tmp_path_factory.mktemp("pruning"),
        JOBDECK_ALLOW_PRIVATE_ADDRESSES="true",
        JOBDECK_CALLBACK_RETRY_S="600",
        JOBDECK_CALLBACK_ATTEMPTS_MAX="2",
    ) as running:
        yield running


def prune(backend: RunningBackend, older_than_s: float = 0, *, dry_run: bool = False) -> dict[str, Any]:
    """Prune and wait for the end; what came of it."""
    body = {"older_than_seconds": older_than_s, "dry_run": dry_run}
    answer = backend.http.post(f"{OPS}/prune", json=body)
    assert answer.status_code == (200 if dry_run else 202), answer.text
    if dry_run:
        return dict(answer.json())

    def over() -> dict[str, Any] | None:
        found = backend.http.get(f"{OPS}/prune").json()
        return found if found["state"] != "running" else None

    ended = wait_until(over, 30, what="the pruning is over")
    assert ended is not None
    assert ended["state"] == "done", ended
    return dict(ended)


def finished(backend: RunningBackend, *names: str, **body: Any) -> list[str]:
    """Probe jobs that have succeeded one after the other, by these ids."""
    for name in names:
        backend.submit({"name": "only", "tokens": 5}, job_id=name, **body)
        backend.wait_for(name, "success")
    return list(names)


def stored(backend: RunningBackend, job_id: str) -> bool:
    return backend.http.get(f"/v1/jobs/async/job/{job_id}").status_code == 200


def acts(backend: RunningBackend) -> list[dict[str, Any]]:
    return list(backend.http.get(f"{OPS}/audit", params={"limit": 1000}).json()["acts"])


def test_a_pruned_job_is_gone_with_its_events_and_checkpoints_and_its_id_is_free(
    backend: RunningBackend,
) -> None:
    finished(backend, "old-1", "old-2", "newest")
    kinds = backend.http.get(f"{OPS}/storage").json()["kinds"]
    promised = prune(backend, dry_run=True)
    assert promised["state"] == "dry run"
    assert stored(backend, "old-1"), "a dry run removes nothing"
    done = prune(backend)
    assert done["removed"]["jobs"] == promised["jobs"] == 2
    assert done["removed"]["events"] == promised["events"]
    assert done["removed"]["checkpoints"] > 0
    assert not stored(backend, "old-1")
    assert stored(backend, "newest"), "the newest event, by which cursors are measured, stays"
    left = backend.http.get(f"{OPS}/storage").json()["kinds"]
    for kind in ("jobs", "events", "checkpoints", "checkpoint_writes"):
        assert left[kind]["rows"] == kinds[kind]["rows"] - done["removed"][kind]
        assert left[kind]["bytes"] < kinds[kind]["bytes"] or kind == "checkpoint_writes"
    assert prune(backend)["removed"] == {}, "again changes nothing"
    assert [one["act"] for one in acts(backend)].count("prune") == 2
    assert backend.http.get(f"{OPS}/fsck").json()["violations"] == []
    finished(backend, "old-1")
    assert backend.violations() == []


def test_what_may_still_be_needed_stays(backend: RunningBackend) -> None:
    backend.http.post(f"{OPS}/queues/shut/pause", json={}).raise_for_status()
    finished(backend, "awaited", "free")
    backend.submit({"name": "x"}, job_id="waiting", queue="shut", after=["awaited"])
    with listening(503) as listener:
        finished(backend, "owing", callback_url=listener.url)
        wait_until(lambda: listener.received, what="the callback was tried")
    prune(backend)
    assert not stored(backend, "free")
    for kept in ("waiting", "awaited", "owing"):
        assert stored(backend, kept), kept
    backend.act("waiting", "cancel")
    finished(backend, "newest-now")
    prune(backend)
    assert not stored(backend, "awaited")
    assert not stored(backend, "waiting")
    assert backend.violations() == []
    young = finished(backend, "young")[0]
    assert prune(backend, 3600)["removed"] == {}
    assert stored(backend, young)


def test_an_earlier_turn_of_a_thread_goes_and_the_thread_stays_with_the_later(
    backend: RunningBackend,
) -> None:
    finished(backend, "turn-1", thread_id="session")
    finished(backend, "turn-2", thread_id="session")  # the newest: it stays
    prune(backend)
    assert (stored(backend, "turn-1"), stored(backend, "turn-2")) == (False, True)
    finished(backend, "turn-3", thread_id="session")
    assert backend.job("turn-3")["outcome"] == "succeeded"


def test_a_cursor_from_before_a_pruning_goes_on_without_a_gap(backend: RunningBackend) -> None:
    def first_cursor(headers: dict[str, str]) -> tuple[str, set[str]]:
        jobs: set[str] = set()
        with backend.http.stream("GET", f"{OPS}/events/stream", headers=headers) as response:
            assert response.status_code == 200, response.read()
            cursor = ""
            for line in response.iter_lines():
                cursor = line.removeprefix("id: ") if line.startswith("id: ") else cursor
                if line.startswith("data: ") and '"jobs"' in line:
                    jobs |= {row["job_id"] for row in json.loads(line[6:]).get("jobs", [])}
                    if cursor:
                        return cursor, jobs
        raise AssertionError("the feed ended")

    with backend.http.stream("GET", f"{OPS}/events/stream") as response:
        lines = response.iter_lines()
        next(lines)
        finished(backend, "before-1", "before-2")
        cursor = next(line.removeprefix("id: ") for line in lines if line.startswith("id: "))
    prune(backend)
    finished(backend, "after")
    assert "after" in first_cursor({"Last-Event-ID": cursor})[1]


def test_a_deck_is_told_which_jobs_are_gone(backend: RunningBackend) -> None:
    finished(backend, "told-1", "told-2", "told-3")
    gone: list[str] = []
    with backend.http.stream("GET", f"{OPS}/events/stream") as response:
        lines = response.iter_lines()
        assert any(line == "event: overview" for line in lines)
        prune(backend)
        while not {"told-1", "told-2"} <= set(gone):
            assert any(line == "event: gone" for line in lines)
            gone += json.loads(next(lines).removeprefix("data: "))["jobs"]
    assert "told-3" not in gone


def test_submitting_is_as_fast_while_jobs_are_pruned(backend: RunningBackend) -> None:
    backend.http.post(f"{OPS}/queues/shut/pause", json={}).raise_for_status()
    request = {"agent_type": "probe", "input": '{"stages": [{"name": "x"}]}', "queue": "shut"}

    def timed_submit() -> tuple[str, float]:
        began = time.monotonic()
        answer = backend.http.post("/v1/jobs/async/submit", json=request)
        assert answer.status_code == 202
        return answer.json()["job_id"], time.monotonic() - began

    for _ in range(300):
        backend.act(timed_submit()[0], "cancel")
    calm = statistics.quantiles([timed_submit()[1] for _ in range(60)], n=20)[-1]
    begun = backend.http.post(f"{OPS}/prune", json={"older_than_seconds": 0}).json()
    assert begun["jobs"] >= 290
    refused = backend.http.post(f"{OPS}/prune", json={"older_than_seconds": 0})
    assert refused.status_code == 409
    busy = []
    while backend.http.get(f"{OPS}/prune").json()["state"] == "running":
        busy.append(timed_submit()[1])
    assert max(busy, default=0.0) < calm + 0.5
    assert backend.violations() == []


def test_retention_removes_by_itself_what_is_older(
    start_backend: StartBackend, tmp_path: Path, empty_database: Path
) -> None:
    state_dir = tmp_path / "retained"
    state_dir.mkdir()
    database = Database(Path(shutil.copy(empty_database, state_dir / "jobdeck.db")), synchronous="NORMAL")
    with database.write() as tx:
        for job_id in ("old", "newest"):
            submit(tx, NewJob("probe", "{}", "q", job_id=job_id), time.time() - 200)
            operators.act(tx, "expire", job_id, operators.expire, operators.By("operator", time.time() - 100))
    database.close()
    backend = start_backend(state_dir=state_dir, JOBDECK_RETENTION_S="50")
    wait_until(lambda: not stored(backend, "old"), what="the old job goes by itself")
    assert [one["actor"] for one in acts(backend) if one["act"] == "prune"] == ["retention"]
    assert stored(backend, "newest")
