"""A web page that somebody looks at while jobdeck runs on the same machine must not steer it."""

import httpx
import pytest
from running_backend import RunningBackend

SUBMIT = "/v1/jobs/async/submit"
JOB = {"agent_type": "probe", "input": "{}"}


def paused(backend: RunningBackend) -> list[str]:
    return list(backend.overview()["paused"])


@pytest.mark.parametrize(
    "origin", ["https://elsewhere.example", "null", "http://127.0.0.1.elsewhere.example", "file://", "["]
)
def test_a_page_of_another_origin_can_do_nothing(backend: RunningBackend, origin: str) -> None:
    headers = {"origin": origin}
    for path in ("/v1/ops/queues/probe/pause", "/v1/jobs/async/job/any/cancel"):
        answer = backend.http.post(path, headers=headers)
        assert answer.status_code == 403, answer.text
        assert "origin" in str(answer.json()["detail"])
    assert backend.http.get("/v1/ops/events/stream", headers=headers).status_code == 403
    assert paused(backend) == []


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_is_no_submit(backend: RunningBackend, content_type: str) -> None:
    body = b'{"agent_type":"probe","input":"{}"}'
    answer = backend.http.post(SUBMIT, content=body, headers={"content-type": content_type})
    assert answer.status_code == 422


@pytest.mark.parametrize("host", ["elsewhere.example", "elsewhere.example:8787", "10.0.0.1", "", "[::2]:80"])
def test_a_name_rebound_to_this_machine_reaches_nothing(backend: RunningBackend, host: str) -> None:
    headers = {"host": host, "origin": f"http://{host}"}
    assert backend.http.get("/v1/ops/jobs", headers=headers).status_code == 403
    assert backend.http.post(SUBMIT, json=JOB, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST:3000", "127.0.0.1:5173", "[::1]:8787", "deck.localhost"]
)
def test_pages_and_programs_of_this_machine_are_served(backend: RunningBackend, name: str) -> None:
    headers = {"host": name, "origin": f"http://{name}"}
    assert backend.http.post(SUBMIT, json=JOB, headers=headers).status_code == 202
    headers = {"origin": f"http://{name}"}
    assert backend.http.get("/health", headers=headers).status_code == 200


def test_trusted_hosts_are_other_names_and_origins(start_backend) -> None:
    backend = start_backend(JOBDECK_TRUSTED_HOSTS="jobs.example, Desk.example")
    for headers in ({"host": "jobs.example:80"}, {"origin": "https://desk.example"}):
        assert httpx.get(f"{backend.url}/health", headers=headers).status_code == 200
    assert httpx.get(f"{backend.url}/health", headers={"host": "other.example"}).status_code == 403


@pytest.mark.parametrize(
    ("options", "warned"),
    [(("--host", "0.0.0.0"), True), (("--host", "0.0.0.0", "--auth"), False), ((), False)],
)
def test_a_server_that_others_reach_and_that_asks_nobody_says_so(
    start_backend, options: tuple[str, ...], warned: bool
) -> None:
    assert ("may do everything" in start_backend(*options).log.read_text()) is warned


def test_a_server_on_every_address_is_reached_by_any_name_but_by_no_foreign_page(start_backend) -> None:
    backend = start_backend("--host", "0.0.0.0")
    url = backend.url.replace("0.0.0.0", "127.0.0.1")
    own = {"host": "farm.example:8787", "origin": "http://farm.example:8787"}
    foreign = {"host": "farm.example:8787", "origin": "http://elsewhere.example"}
    assert httpx.get(f"{url}/health", headers=own).status_code == 200
    assert httpx.get(f"{url}/health", headers=foreign).status_code == 403
