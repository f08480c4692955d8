"""The jobs API's artifacts: the list, the bytes, parts of them, and what must not be found by them."""

import hashlib
from typing import Any

import httpx
import pytest
from running_backend import JOBS

from .calling import LICENCE, Caller

SIZE = 3_000_000
FIELDS = {
    *("artifact_id", "job_id", "kind", "mime_type", "filename", "sha256", "size_bytes", "title", "caption"),
    *("inline", "created_at", "status", "content_url"),
}
HEADERS = {
    "content-type": "text/plain; charset=utf-8",
    "content-length": str(SIZE),
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "content-disposition": 'attachment; filename="one.txt"',
    "cache-control": "private, immutable",
}


@pytest.fixture(scope="module")
def artifact(caller: Caller) -> dict[str, Any]:
    job_id = caller.submit({"name": "one", "artifact_bytes": SIZE}, {"name": "two"})
    caller.wait_for(job_id, "success")
    (found,) = caller.get(job_id, "/artifacts").json()["artifacts"]
    return dict(found)


def get(caller: Caller, artifact: dict[str, Any], **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return caller.http.get(artifact["content_url"], headers=named)


def test_a_jobs_files_are_listed_with_every_field(caller: Caller, artifact: dict[str, Any]) -> None:
    assert set(artifact) == FIELDS
    assert artifact["artifact_id"].startswith("art_")
    assert len(artifact["artifact_id"]) == 36
    assert (artifact["filename"], artifact["kind"], artifact["mime_type"]) == (
        "one.txt",
        "text",
        "text/plain",
    )
    assert (artifact["size_bytes"], artifact["status"], artifact["inline"]) == (SIZE, "available", False)
    assert artifact["created_at"].endswith("+00:00")
    job_id, artifact_id = artifact["job_id"], artifact["artifact_id"]
    assert artifact["content_url"] == f"{JOBS}/job/{job_id}/artifacts/{artifact_id}/content"
    assert list(caller.get(job_id, "/artifacts").json()) == ["job_id", "artifacts"]
    (stored,) = caller.get(job_id, "/state").json()["artifacts"]["files"]
    assert stored["content_url"] == artifact["content_url"]
    none = caller.submit({"name": "bare"})
    caller.wait_for(none)
    assert caller.get(none, "/artifacts").json() == {"job_id": none, "artifacts": []}


def test_files_are_in_the_order_of_their_creation(caller: Caller) -> None:
    job_id = caller.submit({"name": "b", "artifact_bytes": 10}, {"name": "a", "artifact_bytes": 20})
    caller.wait_for(job_id, "success")
    found = caller.get(job_id, "/artifacts").json()["artifacts"]
    assert [one["filename"] for one in found] == ["b.txt", "a.txt"]
    assert [one["created_at"] for one in found] == sorted(one["created_at"] for one in found)


def test_the_event_tells_of_the_file_and_never_has_its_bytes(
    caller: Caller, artifact: dict[str, Any]
) -> None:
    told = [frame.data for frame in caller.events(artifact["job_id"]) if frame.event == "artifact.update"]
    (data,) = [one["data"] for one in told if one["data"]["type"] == "file"]
    assert data["url"] == data["content_url"] == artifact["content_url"]
    assert set(data) == (FIELDS - {"filename", "created_at", "status"}) | {"type", "url", "file_path"}


def test_the_bytes_come_whole_with_headers_no_browser_runs(caller: Caller, artifact: dict[str, Any]) -> None:
    answer = get(caller, artifact)
    assert answer.status_code == 200
    assert hashlib.sha256(answer.content).hexdigest() == artifact["sha256"]
    wanted = HEADERS | {"etag": f'"{artifact["sha256"]}"'}
    assert {name: answer.headers[name] for name in wanted} == wanted


def test_a_head_tells_what_a_get_would_without_the_bytes(caller: Caller, artifact: dict[str, Any]) -> None:
    answer = caller.http.head(artifact["content_url"])
    assert (answer.status_code, answer.content) == (200, b"")
    wanted = HEADERS | {"etag": f'"{artifact["sha256"]}"'}
    assert {name: answer.headers[name] for name in wanted} == wanted
    unknown = caller.http.head(artifact["content_url"].replace("/art_", "/artless_"))
    assert (unknown.status_code, unknown.content) == (404, b"")
    again = caller.http.get("/live")
    assert again.json() == {"status": "alive"}, "the connection goes on"


def test_parts_and_what_a_client_has_already(caller: Caller, artifact: dict[str, Any]) -> None:
    whole, etag = get(caller, artifact).content, f'"{artifact["sha256"]}"'
    for asked, first, last in (
        ("0-9", 0, 9),
        (f"{SIZE - 5}-", SIZE - 5, SIZE - 1),
        ("-7", SIZE - 7, SIZE - 1),
        (f"{SIZE - 2}-{SIZE * 2}", SIZE - 2, SIZE - 1),
    ):
        part = get(caller, artifact, Range=f"bytes={asked}")
        assert part.status_code == 206
        assert part.headers["content-range"] == f"bytes {first}-{last}/{SIZE}"
        assert part.content == whole[first : last + 1]
    outside = get(caller, artifact, Range=f"bytes={SIZE}-")
    assert (outside.status_code, outside.headers["content-range"]) == (416, f"bytes */{SIZE}")
    assert str(SIZE) in outside.json()["detail"]
    for nonsense in ("bytes=", "bytes=-", "bytes=9-1", "bytes=x-y", "bytes=" + "9" * 5_000 + "-"):
        answer = get(caller, artifact, Range=nonsense)
        assert (answer.status_code, list(answer.json())) == (400, ["detail"])
    for passed_over in ("items=0-1", "bytes 0-1", "bytes=" + "0-1," * 200):
        assert get(caller, artifact, Range=passed_over).content == whole
    assert get(caller, artifact, Range="bytes=0-9", If_Range=etag).status_code == 206
    assert get(caller, artifact, Range="bytes=0-9", If_Range='"another"').status_code == 200
    for tag in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        unchanged = get(caller, artifact, If_None_Match=tag)
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        assert unchanged.headers["etag"] == etag
    assert get(caller, artifact, If_None_Match='"another"').status_code == 200


def test_only_the_jobs_own_artifacts_are_found(caller: Caller, artifact: dict[str, Any]) -> None:
    other = caller.submit({"name": "other"})
    mine, theirs = artifact["job_id"], artifact["artifact_id"]
    for path in (
        f"{other}/artifacts/{theirs}",
        f"{mine}/artifacts/art_{'0' * 32}",
        f"{mine}/artifacts/..%2f..%2f..%2fjobdeck.db",
        f"{mine}/artifacts/%00",
        f"{mine}/artifacts/{'a' * 5000}",
        f"nobody/artifacts/{theirs}",
    ):
        answer = caller.http.get(f"{JOBS}/job/{path}/content")
        assert answer.status_code == 404, path
        assert "not found" in answer.json()["detail"].lower()
    unknown = f"art_{'0' * 32}"
    answer = caller.http.get(f"{JOBS}/job/{mine}/artifacts/{unknown}/content")
    assert answer.json() == {"detail": f"Artifact not found: {unknown}"}
    assert caller.get("nobody", "/artifacts").json() == {"detail": "Job not found: nobody"}


def test_a_review_leaves_its_obligations_as_a_table_and_its_report(caller: Caller) -> None:
    job_id = caller.ask(agent_type="contract_review", input=LICENCE).json()["job_id"]
    caller.wait_for(job_id, "success")
    found = caller.get(job_id, "/artifacts").json()["artifacts"]
    table, report = sorted(found, key=lambda one: one["filename"])
    assert (table["filename"], table["kind"], table["mime_type"]) == ("obligations.csv", "table", "text/csv")
    heading = get(caller, table).text.splitlines()[0]
    assert set(heading.split(",")) >= {"group", "text", "clause_name", "line", "quote"}
    assert (report["filename"], report["kind"], report["mime_type"]) == (
        "report.md",
        "document",
        "text/markdown",
    )
    assert get(caller, report).text == caller.get(job_id, "/report").json()["report"]
