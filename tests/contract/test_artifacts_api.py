"""The jobs API's artifacts over HTTP: list, bytes, parts of them, and their end (R6, R31)."""

import csv
import hashlib
import io
import os
import sqlite3
import time
from typing import Any

import httpx
import pytest
from running_backend import JOBS, RunningBackend, wait_until

SIZE = 3_000_000
DOCUMENT = """A licence

The above copyright notice and this permission notice shall be included in all copies of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.
"""
FIELDS = {
    *("artifact_id", "job_id", "kind", "mime_type", "filename", "sha256", "size_bytes", "title", "caption"),
    *("inline", "created_at", "status", "content_url"),
}


@pytest.fixture(scope="module")
def artifact(backend: RunningBackend) -> dict[str, Any]:
    job_id = backend.submit({"name": "one", "artifact_bytes": SIZE}, {"name": "two"})
    assert backend.wait_for(job_id)["status"] == "success"
    (found,) = backend.artifacts(job_id)
    return found


def get(backend: RunningBackend, artifact: dict[str, Any], **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return backend.http.get(artifact["content_url"], headers=named)


def test_a_jobs_files_are_listed_without_where_they_are(backend: RunningBackend, artifact) -> None:
    assert set(artifact) == FIELDS
    assert artifact["artifact_id"].startswith("art_")
    assert (artifact["filename"], artifact["kind"], artifact["mime_type"]) == (
        "one.txt",
        "text",
        "text/plain",
    )
    assert (artifact["size_bytes"], artifact["status"]) == (SIZE, "available")
    assert str(backend.state_dir) not in str(artifact)
    (shown,) = backend.http.get(f"/v1/ops/jobs/{artifact['job_id']}").json()["artifacts"]
    assert (shown["filename"], shown["sha256"], shown["removed_at"]) == ("one.txt", artifact["sha256"], None)
    (stored,) = backend.http.get(f"{JOBS}/job/{artifact['job_id']}/state").json()["artifacts"]["files"]
    assert stored["content_url"] == artifact["content_url"]
    none = backend.submit({"name": "bare"})
    backend.wait_for(none)
    assert backend.artifacts(none) == []


def test_the_event_tells_of_the_file_and_never_has_its_bytes(backend: RunningBackend, artifact) -> None:
    told = [frame.data for frame in backend.events(artifact["job_id"]) if frame.event == "artifact.update"]
    (data,) = [one["data"] for one in told if one["data"]["type"] == "file"]
    assert data["url"] == data["content_url"] == artifact["content_url"]
    assert set(data) == (FIELDS - {"filename", "created_at", "status"}) | {"type", "url", "file_path"}


def test_the_bytes_come_whole_with_headers_no_browser_runs(backend: RunningBackend, artifact) -> None:
    answer = get(backend, artifact)
    assert answer.status_code == 200
    assert hashlib.sha256(answer.content).hexdigest() == artifact["sha256"]
    headers = answer.headers
    assert headers["etag"] == f'"{artifact["sha256"]}"'
    assert headers["content-type"].startswith("text/plain")
    assert headers["content-length"] == str(SIZE)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["content-disposition"] == 'attachment; filename="one.txt"'
    assert headers["cache-control"] == "private, immutable"
    assert headers["accept-ranges"] == "bytes"


def test_parts_and_what_a_client_has_already(backend: RunningBackend, artifact) -> None:
    whole, etag = get(backend, artifact).content, f'"{artifact["sha256"]}"'
    for asked, first, last in (
        ("0-9", 0, 9),
        (f"{SIZE - 5}-", SIZE - 5, SIZE - 1),
        ("-7", SIZE - 7, SIZE - 1),
    ):
        part = get(backend, artifact, Range=f"bytes={asked}")
        assert part.status_code == 206
        assert part.headers["content-range"] == f"bytes {first}-{last}/{SIZE}"
        assert part.content == whole[first : last + 1]
    outside = get(backend, artifact, Range=f"bytes={SIZE}-")
    assert (outside.status_code, outside.headers["content-range"]) == (416, f"bytes */{SIZE}")
    assert get(backend, artifact, Range="bytes=0-9", If_Range=etag).status_code == 206
    assert get(backend, artifact, Range="bytes=0-9", If_Range='"another"').status_code == 200
    for tag in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        unchanged = get(backend, artifact, If_None_Match=tag)
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        assert unchanged.headers["etag"] == etag
    assert get(backend, artifact, If_None_Match='"another"').status_code == 200


def test_only_the_jobs_own_artifacts_are_found(backend: RunningBackend, artifact) -> None:
    other = backend.submit({"name": "other"})
    mine, theirs = artifact["job_id"], artifact["artifact_id"]
    for path in (
        f"{other}/artifacts/{theirs}",
        f"{mine}/artifacts/art_{'0' * 32}",
        f"{mine}/artifacts/..%2f..%2f..%2fjobdeck.db",
        f"{mine}/artifacts/%00",
        f"{mine}/artifacts/{'a' * 5000}",
        f"nobody/artifacts/{theirs}",
    ):
        answer = backend.http.get(f"{JOBS}/job/{path}/content")
        assert answer.status_code == 404, path
        assert "not found" in answer.json()["detail"].lower()
    assert backend.http.get(f"{JOBS}/job/nobody/artifacts").status_code == 404


def test_a_review_leaves_its_obligations_as_a_table_and_its_report(backend: RunningBackend) -> None:
    job_id = backend.submit_text(DOCUMENT, agent_type="contract_review")
    assert backend.wait_for(job_id)["status"] == "success"
    table, report = sorted(backend.artifacts(job_id), key=lambda one: one["filename"])
    assert (table["filename"], table["kind"], table["mime_type"]) == ("obligations.csv", "table", "text/csv")
    rows = list(csv.DictReader(io.StringIO(get(backend, table).text)))
    assert rows[0].keys() >= {"group", "text", "clause_name", "line", "quote"}
    assert (report["filename"], report["mime_type"]) == ("report.md", "text/markdown")
    assert get(backend, report).text == backend.http.get(f"{JOBS}/job/{job_id}/report").json()["report"]


def test_r6_bytes_end_with_their_time_and_everything_else_stays(start_backend) -> None:
    """Two jobs' time is over; a third has the same files as one of them. What a crash left goes too."""
    first: RunningBackend = start_backend()
    old = first.submit({"name": "old", "artifact_bytes": 100}, output="text")
    twin, fresh = (first.submit_text(DOCUMENT, agent_type="contract_review") for _ in range(2))
    for job_id in (old, twin, fresh):
        assert first.wait_for(job_id)["status"] == "success"
    (gone,), shared, kept = first.artifacts(old), first.artifacts(twin), first.artifacts(fresh)
    digests = {one["sha256"] for one in kept}
    assert {one["sha256"] for one in shared} == digests, "the same bytes are stored once"
    first.stop()
    with sqlite3.connect(first.state_dir / "jobdeck.db") as database:
        aged = "UPDATE admissions SET finished_at = finished_at - 90000 WHERE job_id IN (?, ?)"
        database.execute(aged, [old, twin])
    database.close()
    files = first.artifact_files
    orphan, young = files.store([b"orphan"]), files.store([b"young"])
    for digest in (orphan, gone["sha256"], *digests):
        os.utime(files.path(digest), (time.time() - 1000,) * 2)
    left = first.state_dir / "sandboxes" / f"{old}-1"
    left.mkdir(parents=True)
    second: RunningBackend = start_backend(state_dir=first.state_dir)
    wait_until(lambda: not left.exists(), what="a dead execution's directory is removed")
    assert set(files.digests()) == {*digests, young}
    for one in (gone, *shared):
        answer = get(second, one)
        assert answer.status_code == 410
        assert "expired" in answer.json()["detail"]
    assert [one["status"] for one in second.artifacts(old)] == ["expired"]
    assert second.job(old)["status"] == "success"
    assert second.http.get(f"{JOBS}/job/{old}/report").json()["report"] == "text"
    assert [get(second, one).status_code for one in kept] == [200, 200]
