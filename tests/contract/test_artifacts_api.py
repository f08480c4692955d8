"""The jobs API's artifacts over HTTP, beside what the conformance cases say: names, and their end (R6, R31)."""

import os
import sqlite3
import time
from typing import Any

import httpx
import pytest
from jobdeck_backend.jobs.artifacts import Artifact, artifact_id
from jobdeck_backend.store import artifacts
from running_backend import JOBS, RunningBackend, wait_until

DOCUMENT = """A licence

The above copyright notice and this permission notice shall be included in all copies of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.
"""


def get(backend: RunningBackend, artifact: dict[str, Any]) -> httpx.Response:
    return backend.http.get(artifact["content_url"])


def test_nobody_is_told_where_the_files_are_and_operators_see_them_too(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "one", "artifact_bytes": 100})
    backend.wait_for(job_id, "success")
    (artifact,) = backend.artifacts(job_id)
    assert str(backend.state_dir) not in str(artifact)
    (shown,) = backend.http.get(f"/v1/ops/jobs/{job_id}").json()["artifacts"]
    assert (shown["filename"], shown["sha256"], shown["removed_at"]) == ("one.txt", artifact["sha256"], None)


@pytest.mark.parametrize(
    ("media_type", "filename", "disposition"),
    [
        ("image/png", "a.png", 'inline; filename="a.png"'),
        ("image/jpeg", "a b.jpg", "inline; filename*=utf-8''a%20b.jpg"),
        ("image/webp", "ünï.webp", "inline; filename*=utf-8''%C3%BCn%C3%AF.webp"),
        ("application/pdf", "a.pdf", 'attachment; filename="a.pdf"'),
        ("text/markdown", "日本.md", "attachment; filename*=utf-8''%E6%97%A5%E6%9C%AC.md"),
    ],
)
def test_only_pictures_are_shown_in_place_and_any_name_can_be_told(
    backend: RunningBackend, media_type: str, filename: str, disposition: str
) -> None:
    job_id = backend.submit()
    backend.wait_for(job_id)
    bytes_ = filename.encode()
    sha256 = backend.artifact_files.store([bytes_])
    one = Artifact(
        *(artifact_id(job_id, sha256), job_id, sha256, filename, filename, "other", media_type, len(bytes_)),
        *(None, None, False, 1, 1, time.time()),
    )
    with backend.database.write() as tx:
        artifacts.insert(tx, [one])
    answer = backend.http.get(one.content_url)
    assert (answer.status_code, answer.content) == (200, bytes_)
    assert answer.headers["content-disposition"] == disposition
    assert answer.headers["content-type"].partition(";")[0] == media_type


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
    link = left.with_name(f"{twin}-1")
    link.symlink_to(outside := first.state_dir / "outside")
    outside.mkdir()
    second: RunningBackend = start_backend(state_dir=first.state_dir)
    wait_until(lambda: not list(left.parent.iterdir()), what="a dead execution's directory is removed")
    assert outside.is_dir()
    assert set(files.digests()) == {*digests, young}
    for one in (gone, *shared):
        answer = get(second, one)
        assert answer.status_code == 410
        assert "expired" in answer.json()["detail"]
    assert [one["status"] for one in second.artifacts(old)] == ["expired"]
    assert second.job(old)["status"] == "success"
    assert second.http.get(f"{JOBS}/job/{old}/report").json()["report"] == "text"
    assert [get(second, one).status_code for one in kept] == [200, 200]
