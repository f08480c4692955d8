"""The jobs API, held to its contract from outside: what is refused, and that nothing is stored then."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from jobdeck_backend.store import jobs
from running_backend import JOBS, RunningBackend, wait_until
from sqlalchemy import text

SUBMIT = f"{JOBS}/submit"
GOOD = {"agent_type": "probe", "input": "{}"}


@pytest.fixture
def unchanged(backend: RunningBackend) -> Iterator[None]:
    """Whatever the test sends, no table has a row more afterwards."""
    wait_until(lambda: _unfinished(backend) == 0, what="earlier tests' jobs are done")
    before = _rows(backend)
    yield
    assert _rows(backend) == before


def _unfinished(backend: RunningBackend) -> int:
    with backend.database.read() as tx:
        return tx.execute(text("SELECT count(*) FROM admissions WHERE outcome IS NULL")).scalar_one()


def _rows(backend: RunningBackend) -> dict[str, int]:
    with backend.database.read() as tx:
        return {
            table: tx.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
            for table in ("admissions", "jobs", "events", "transitions", "dependencies")
        }


def post(backend: RunningBackend, **changes) -> httpx.Response:
    return backend.http.post(SUBMIT, json={**GOOD, **changes})


def test_an_accepted_job_is_answered_with_every_key(backend: RunningBackend) -> None:
    answer = post(backend, job_id="accepted_1-A", deadline_seconds=60, unknown_field="ignored")
    assert answer.status_code == 202
    body = answer.json()
    assert set(body) == {"job_id", "status", "agent_type", "error", "created_at", "deadline"}
    assert (body["job_id"], body["status"], body["error"]) == ("accepted_1-A", "submitted", None)
    assert body["created_at"].endswith("+00:00")
    backend.wait_for("accepted_1-A")


def test_an_id_is_made_where_none_is_given(backend: RunningBackend) -> None:
    first, second = post(backend).json()["job_id"], post(backend, job_id=None).json()["job_id"]
    assert first != second
    assert len(first) == 36


@pytest.mark.usefixtures("unchanged")
class TestRefusals:
    def test_an_unknown_workflow_is_400_and_the_known_are_named(self, backend: RunningBackend) -> None:
        answer = post(backend, agent_type="no_such_workflow")
        assert answer.status_code == 400
        detail = answer.json()["detail"]
        assert detail["code"] == "unknown_agent_type"
        agents = [one["agent_type"] for one in backend.http.get(f"{JOBS}/agents").json()["agents"]]
        assert detail["known"] == agents
        assert "probe" not in agents

    @pytest.mark.parametrize(
        "changes",
        [
            {"input": ""},
            {"input": "  \n\t "},
            {"input": None},
            {"input": 7},
            {"agent_type": None},
            {"job_id": ""},
            {"job_id": "a" * 65},
            {"job_id": "a b"},
            {"job_id": "../etc"},
            {"job_id": "trailing\n"},
            {"job_id": "jöb"},
            {"expiry_seconds": 599},
            {"expiry_seconds": 604_801},
            {"expiry_seconds": "soon"},
            {"deadline_seconds": 0},
            {"deadline_seconds": -1},
            {"deadline_seconds": 1e300},
            {"deadline": "tomorrow"},
            {"deadline": "2030-01-01T00:00:00"},
            {"deadline": "2001-01-01T00:00:00Z"},
            {"deadline": "9999-12-31T23:59:59-23:59"},
            {"deadline": "2090-01-01T00:00:00Z", "deadline_seconds": 5},
            {"after_policy": "maybe"},
            {"after": "one"},
            {"after": ["nobody"]},
            {"job_id": "ouroboros", "after": ["ouroboros"]},
            {"thread_id": "no/slashes"},
            {"queue": "no spaces"},
            {"priority": 1001},
            {"priority": 10**30},
            {"input": "not json"},
            {"input": '{"stages": [{"name": "x", "seconds": -1}]}'},
            {"input": '{"stages": [{"name": "x"}, {"name": "x"}]}'},
            {"input": "[" * 100_000},
            {"data_sources": "all"},
        ],
        ids=lambda changes: repr(changes)[:60],
    )
    def test_a_field_that_cannot_be_used_is_422(self, backend: RunningBackend, changes: dict) -> None:
        answer = post(backend, **changes)
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"]
        assert len(answer.text) < 5_000, "the answer does not repeat what was sent"

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"null",
            b"[]",
            b'"text"',
            b"{",
            b'{"agent_type": "probe", "input": "{}", "deadline_seconds": NaN}',
            b'{"agent_type": "probe", "input": "{}", "deadline_seconds": Infinity}',
            b'{"agent_type": "probe", "input": "{}", "deadline_seconds": 1e999}',
            b'{"agent_type": "probe", "input": "\\ud800"}',
            b'{"agent_type": "\\udfff", "input": "{}"}',
            b'{"agent_type": "probe", "input": "\xff\xfe"}',
            b'{"agent_type": "probe", "input": "{}", "priority": 1e400}',
            b"[" * 100_000,
        ],
        ids=lambda body: repr(body)[:60],
    )
    def test_a_body_that_is_no_request_is_refused(self, backend: RunningBackend, body: bytes) -> None:
        answer = backend.http.post(SUBMIT, content=body, headers={"content-type": "application/json"})
        assert answer.status_code in {400, 422}, answer.text
        assert "detail" in answer.json()

    @pytest.mark.parametrize(
        ("content_type", "body", "how"),
        [
            ("text/plain", json.dumps(GOOD), "and came as 'text/plain'"),
            ("application/x-www-form-urlencoded", json.dumps(GOOD), "application/x-www-form-urlencoded"),
            ("image/png", json.dumps(GOOD), "and came as 'image/png'"),
            ("x" * 5000, json.dumps(GOOD), "xxx"),
            (None, json.dumps(GOOD), "and came without a content type"),
            ("application/json", "[1]", "and is none"),
            ("application/json", "", "and none came"),
        ],
    )
    @pytest.mark.parametrize("path", [SUBMIT, "/v1/ops/jobs/bulk", "/v1/workflow/async"])
    def test_a_body_that_is_no_json_object_is_refused_saying_what_it_is_to_be(
        self, backend: RunningBackend, path: str, content_type: str | None, body: str, how: str
    ) -> None:
        headers = {} if content_type is None else {"content-type": content_type}
        answer = backend.http.post(path, content=body.encode(), headers=headers)
        assert answer.status_code == 422, answer.text
        detail = answer.json()["detail"]
        said = detail["message"] if isinstance(detail, dict) else detail[0]["msg"]
        assert said.startswith("the body is to be a JSON object with content-type application/json, ")
        assert how in said
        assert len(said) < 300
        assert said.endswith("; nothing was stored")

    def test_too_large_an_input_is_413(self, backend: RunningBackend) -> None:
        answer = post(backend, input="é" * (512 * 1024 + 1))
        assert answer.status_code == 413
        assert "1048576" in answer.json()["detail"]

    @pytest.mark.parametrize("declared", [True, False])
    def test_too_large_a_body_is_413(self, backend: RunningBackend, declared: bool) -> None:
        body = json.dumps({**GOOD, "padding": "x" * (5 << 20)}).encode()
        pieces = (body[at : at + 65536] for at in range(0, len(body), 65536))
        answer = backend.http.post(
            SUBMIT, content=body if declared else pieces, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 413, answer.text
        assert "4194304" in answer.json()["detail"]

    def test_unknown_jobs_are_404_everywhere(self, backend: RunningBackend) -> None:
        for path in ("", "/stream", "/stream/5", "/state", "/report"):
            answer = backend.http.get(f"{JOBS}/job/no-such-job{path}")
            assert (answer.status_code, answer.json()) == (404, {"detail": "Job not found: no-such-job"})

    def test_a_cursor_that_is_none_is_422(self, backend: RunningBackend) -> None:
        assert backend.http.get(f"{JOBS}/job/no-such-job/stream/x").status_code == 422
        assert backend.http.get(f"{JOBS}/job/no-such-job/stream/{10**30}").status_code == 422
        headers = {"Last-Event-ID": "x"}
        assert backend.http.get(f"{JOBS}/job/no-such-job/stream", headers=headers).status_code == 422


def test_r2_a_taken_id_is_409_and_tells_whether_the_request_was_the_same(backend: RunningBackend) -> None:
    backend.submit(job_id="taken")
    stored = backend.wait_for("taken")
    with backend.database.read() as tx:
        admission = jobs.load_admission(tx, "taken")
    assert admission is not None
    for text_, matches in ((admission.input, True), ("{}", False)):
        answer = post(backend, job_id="taken", input=text_)
        assert answer.status_code == 409
        assert answer.json() == {"detail": "Job already exists: taken", "request_matches": matches}
    assert backend.job("taken") == stored


def test_r1_i2_an_id_is_claimed_once_whatever_the_concurrency(backend: RunningBackend) -> None:
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda _: post(backend, job_id="contested").status_code, range(48)))
    assert sorted(codes) == [202] + [409] * 47
    assert backend.wait_for("contested")["attempt"] == 1


def test_the_last_of_duplicate_keys_counts(backend: RunningBackend) -> None:
    body = b'{"agent_type": "nothing", "agent_type": "probe", "input": "[]", "input": "{}"}'
    answer = backend.http.post(SUBMIT, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 202
    assert answer.json()["agent_type"] == "probe"


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
@pytest.mark.parametrize("pieces", [1, 2])
def test_however_a_request_comes_the_same_is_accepted(
    backend: RunningBackend, pieces: int, content_type: str
) -> None:
    body = json.dumps({**GOOD, "priority": "7", "deadline_seconds": 600}).encode()
    step = -(-len(body) // pieces)
    chunked = (body[start : start + step] for start in range(0, len(body), step))
    answer = backend.http.post(SUBMIT, content=chunked, headers={"content-type": content_type})
    assert answer.status_code == 202, answer.text
    job = backend.http.get(f"/v1/ops/jobs/{answer.json()['job_id']}").json()["job"]
    assert (job["workflow"], job["priority"]) == ("probe", 7)
    assert answer.json()["deadline"]


def test_odd_but_legal_text_is_kept_as_it_is(backend: RunningBackend) -> None:
    odd = "\u202eevil \x1b[31mred\x00 \U0001f600 \ufeff end"
    job_id = backend.submit(output=odd)
    backend.wait_for(job_id, "success")
    # A NUL, which no store takes, is replaced where it comes in.
    shown = backend.http.get(f"{JOBS}/job/{job_id}/report").json()["report"]
    assert shown == odd.replace("\x00", "\ufffd")


def test_r27_a_stream_resumed_at_any_cursor_gives_the_same_log(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "talk", "events": 4, "tokens": 6})
    whole = [frame for frame in backend.events(job_id) if frame.id is not None]
    for cursor in range(len(whole) + 2):
        rest = backend.events(job_id, after=cursor)
        assert [frame for frame in rest if frame.id is not None] == whole[cursor:]
        assert rest[-1].event == "job.status"
        assert rest[-1].data.get("reconnected", False) is (cursor > 0)


def test_r27_of_two_cursors_the_greater_counts(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "talk", "events": 4})
    whole = [frame for frame in backend.events(job_id) if frame.id is not None]
    for path, header in ((2, 4), (4, 2), (None, 4), (4, None)):
        headers = {} if header is None else {"Last-Event-ID": str(header)}
        rest = backend.events(job_id, path, **headers)
        assert [frame for frame in rest if frame.id is not None] == whole[4:]


def test_r27_i5_disconnects_while_the_job_runs_lose_and_repeat_nothing(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "talk", "seconds": 1.5, "events": 60})
    seen: list[int] = []
    while True:
        with backend.stream(job_id, seen[-1] if seen else 0) as frames:
            for frame in frames:
                if frame.id is not None:
                    seen.append(frame.id)
                    if len(seen) % 7 == 6:
                        break  # the connection is dropped in the middle
            else:
                break  # the stream came to its end
    assert seen == list(range(1, backend.record(job_id).event_seq + 1))


def test_stream_headers_and_shape(backend: RunningBackend) -> None:
    job_id = backend.submit()
    with backend.http.stream("GET", f"{JOBS}/job/{job_id}/stream") as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-cache"
        assert response.headers["x-accel-buffering"] == "no"
        first = next(response.iter_text())
    assert first.startswith('event: stream.mode\ndata: {"mode":"polling"')


def test_state_and_report_add_up_the_stored_events(backend: RunningBackend) -> None:
    job_id = backend.submit(output="# Report")
    backend.wait_for(job_id, "success")
    assert backend.http.get(f"{JOBS}/job/{job_id}/report").json() == {
        "job_id": job_id,
        "has_report": True,
        "report": "# Report",
        "parent_job_id": None,
        "interaction_action": None,
        "result_kind": "report",
    }
    state = backend.http.get(f"{JOBS}/job/{job_id}/state").json()
    assert set(state) == {"job_id", "has_state", "state", "artifacts"}


def test_health_and_live_answer(backend: RunningBackend) -> None:
    assert backend.http.get("/live").json() == {"status": "alive"}
    health = backend.http.get("/health")
    assert (health.status_code, health.json()["status"], health.json()["db"]) == (200, "healthy", "ok")


def test_openapi_tells_every_route_and_each_answers(backend: RunningBackend) -> None:
    """No documented GET is a 404 of the router or a server error; every status that comes back is documented."""
    job_id = backend.submit({"name": "one"})
    backend.wait_for(job_id, "success")
    document = backend.http.get("/openapi.json").json()
    known = {"job_id": job_id, "cursor": "0", "name": "probe", "drill_id": "none", "artifact_id": "none"}
    answered = 0
    for path, operations in document["paths"].items():
        if "get" not in operations or path == "/v1/ops/events/stream":
            continue
        answer = backend.http.get(path.format(**known))
        assert answer.status_code < 500, (path, answer.text)
        assert str(answer.status_code) in operations["get"]["responses"], (path, answer.status_code)
        answered += 1
    assert answered >= 10
    posts = {path for path, operations in document["paths"].items() if "post" in operations}
    assert {SUBMIT, f"{JOBS}/job/{{job_id}}/cancel", "/v1/ops/jobs/{job_id}/resume"} <= posts
