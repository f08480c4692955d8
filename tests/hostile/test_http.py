"""What a hostile caller sends over HTTP: refused in JSON, soon, in flat memory, and never a server error."""

import pickle
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import cloudpickle
import pytest
from distributed import Client
from running_backend import JOBS, RunningBackend

LONG = '{"stages": [{"name": "long", "seconds": 60}]}'
BODIES = [
    b"",
    b"null",
    b"[]",
    b"{",
    b'"\\ud800"',
    b"[" * 100_000,
    b'{"agent_type": "probe", "input": "\\ud800", "input_message": "\\ud800"}',
    b'{"agent_type": "probe", "workflow": "probe", "input_message": "{}", "job_id": "\\udfff"}',
    b'{"agent_type": "probe", "input": "{}", "job_id": "a/b", "input_message": "{}"}',
    b'{"agent_type": "probe", "input": "\xff\xfe"}',
    b'{"priority": 1e400, "sync_timeout": NaN, "expiry_seconds": Infinity, "version": 1e400, "deadline": NaN}',
    b'{"jobs": [7], "job_id": "\\u0000", "input_message": 7}',
    b'{"input": "' + b"x" * (2 << 20) + b'", "agent_type": "probe", "workflow": "probe", "input_message": 1}',
]
POSTS = [
    f"{JOBS}/submit",
    f"{JOBS}/job/none/cancel",
    f"{JOBS}/job/none/report/edit",
    "/v1/workflow/async",
    "/generate/async",
    "/v1/ops/jobs/batch",
    "/v1/ops/jobs/none/grant",
    "/v1/ops/jobs/none/effects/none",
]
PATHS = [
    *(f"{JOBS}/job/{{}}", f"{JOBS}/job/{{}}/stream", f"{JOBS}/job/{{}}/state", f"{JOBS}/job/{{}}/report"),
    *("/v1/workflow/async/job/{}", "/generate/async/job/{}", "/v1/ops/jobs/{}", "/v1/ops/jobs/{}/why"),
]
IDS = [
    "%2F",
    "a%2Fb",
    "%2e%2e",
    "%00",
    "%0d%0aX:1",
    "%ED%A0%80",
    "%FF%FE",
    "x" * 10_000,
    "%E2%80%AE",
]


@pytest.mark.parametrize("path", POSTS)
def test_a_body_that_is_no_request_is_refused_in_json(backend: RunningBackend, path: str) -> None:
    for body in BODIES:
        for content_type in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
            answer = backend.http.post(path, content=body, headers={"content-type": content_type})
            assert 400 <= answer.status_code < 500, (body[:80], content_type, answer.text)
            assert "detail" in answer.json()
            assert len(answer.content) < 5_000, "what was sent is not repeated"


@pytest.mark.parametrize("path", PATHS)
def test_an_id_that_no_job_has_is_refused_in_json(backend: RunningBackend, path: str) -> None:
    for job_id in IDS:
        answer = backend.http.get(path.format(job_id))
        if answer.status_code == 307:  # a list's path with a slash too many
            assert answer.headers["location"].startswith(backend.url)
            continue
        assert answer.status_code in {404, 405, 422}, (job_id[:40], answer.text)
        assert "detail" in answer.json()


def test_a_batch_says_of_each_hostile_job_why_it_is_refused(backend: RunningBackend) -> None:
    body = b'{"jobs": [{"job_id": "\\ud800", "input": "\\ud800"}, {"job_id": "' + b"x" * 10_000 + b'"}, {}]}'
    answer = backend.http.post(
        "/v1/ops/jobs/batch", content=body, headers={"content-type": "application/json"}
    )
    results = answer.json()["results"]
    assert [one["code"] for one in results] == ["invalid_input"] * 3
    assert [one["job_id"] for one in results] == ["?", "x" * 100, None]


def memory(backend: RunningBackend) -> int:
    """Bytes that the process ever had in memory at once."""
    status = Path(f"/proc/{backend.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) << 10


def answer_to(backend: RunningBackend, head: str, pieces: Iterator[bytes]) -> tuple[bytes, int]:
    """The answer to a body that is sent for as long as the server takes it, and how much it took."""
    place = urlsplit(backend.url)
    assert place.hostname
    assert place.port
    taken = 0
    with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
        connection.sendall(
            f"{head}\r\nHost: {place.hostname}\r\nContent-Type: application/json\r\n\r\n".encode()
        )
        try:
            for piece in pieces:
                connection.sendall(piece)
                taken += len(piece)
        except OSError:
            pass  # the server has had enough
        received = b""
        try:
            while chunk := connection.recv(65_536):
                received += chunk
        except ConnectionResetError:
            pass
    return received, taken


@pytest.mark.parametrize("path", [f"{JOBS}/submit", "/v1/workflow/async", "/v1/ops/jobs/batch"])
def test_a_body_of_200_mb_is_refused_early_and_memory_stays_flat(backend: RunningBackend, path: str) -> None:
    before = memory(backend)
    size = 200 << 20
    declared = f"POST {path} HTTP/1.1\r\nContent-Length: {size}"
    received, _taken = answer_to(backend, declared, iter(()))
    assert received.startswith(b"HTTP/1.1 413")
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    chunked = f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked"
    received, taken = answer_to(backend, chunked, (chunk for _ in range(size >> 16)))
    assert taken < size // 4, "the rest is not even read"
    assert received.startswith(b"HTTP/1.1 413") or not received, "a reset may overtake the answer"
    assert memory(backend) - before < 32 << 20


MANY = 500_000
SUBMITTED = {"agent_type": "probe", "input": "{}", "workflow": "probe", "input_message": "{}"}
WRONG_A_MILLION_TIMES = [
    (f"{JOBS}/submit", {**SUBMITTED, "data_sources": [7] * MANY}),
    (f"{JOBS}/submit", {**SUBMITTED, "data_sources": ["x"] * MANY}),
    ("/v1/workflow/async", {**SUBMITTED, "data_sources": [7] * MANY}),
    ("/v1/workflow/async", {**SUBMITTED, "after": [7] * MANY}),
    ("/v1/ops/jobs/bulk", {"act": "cancel", "ids": [7] * MANY}),
    (
        "/v1/ops/jobs/bulk",
        {"act": "cancel", "ids": ["x"], "versions": {str(n): "x" for n in range(MANY // 2)}},
    ),
    ("/v1/ops/recovery/apply", {"jobs": [7] * MANY}),
    ("/v1/ops/jobs/batch", {"jobs": [7] * MANY}),
    ("/v1/ops/jobs/batch", {"jobs": [{**SUBMITTED, "after": [7] * 1000}] * 1000}),
]


@pytest.mark.parametrize(("path", "body"), WRONG_A_MILLION_TIMES, ids=lambda one: str(one)[-20:])
def test_a_body_that_is_wrong_a_million_times_is_refused_in_few_words_and_flat_memory(
    backend: RunningBackend, path: str, body: dict
) -> None:
    before = memory(backend)
    answer = backend.http.post(path, json=body)
    assert answer.status_code in {200, 422}
    assert len(answer.content) < 500_000
    assert memory(backend) - before < 128 << 20


def test_long_names_in_headers_are_not_kept(backend: RunningBackend) -> None:
    before = memory(backend)
    for number in range(200):
        name = f"{number:x<400000}"
        for headers in ({"Origin": f"http://{name}"}, {"Host": name}, {"Origin": f"http://{name}.localhost"}):
            assert backend.http.get("/live", headers=headers).status_code == 403
    assert memory(backend) - before < 32 << 20


def held_by(dask_scheduler: Any) -> bytes:
    """All that a scheduler holds of its tasks."""
    return b"".join(
        pickle.dumps((one.key, one.run_spec, one.annotations)) for one in dask_scheduler.tasks.values()
    )


def test_a_callers_credentials_are_nowhere_on_disk_nor_with_dask(backend: RunningBackend) -> None:
    secret = "s3cr3t-0123456789"
    headers = {
        "Authorization": f"Bearer {secret}.a.b",
        "Cookie": f"nat-session={secret}",
        "X-API-Key": secret,
    }
    for path, body in (
        (f"{JOBS}/submit", {"agent_type": "probe", "input": LONG, "job_id": "with-credentials"}),
        ("/v1/workflow/async", {"workflow": "probe", "input_message": "{}", "sync_timeout": 10}),
    ):
        assert backend.http.post(path, json=body, headers=headers).status_code in {200, 202}
    backend.wait_for_stage("with-credentials", "long")
    with Client(backend.cluster()["scheduler"]["address"], set_as_default=False) as dask:
        # Where this module cannot be imported.
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        held = dask.run_on_scheduler(held_by)
    assert b"with-credentials" in held
    assert secret.encode() not in held
    assert backend.http.post(f"{JOBS}/job/with-credentials/cancel").status_code == 200
    files = [path for path in backend.state_dir.rglob("*") if path.is_file()]
    assert files
    assert [path for path in [*files, backend.log] if secret.encode() in path.read_bytes()] == []


def test_the_last_of_duplicate_keys_counts(backend: RunningBackend) -> None:
    body = b'{"workflow": "no", "workflow": "probe", "input_message": "{}", "sync_timeout": 0, "sync_timeout": 9}'
    answer = backend.http.post(
        "/v1/workflow/async", content=body, headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "success")
