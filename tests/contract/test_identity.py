"""With authentication on: who was verified, what is theirs, and what roles add (R32, R36, I16)."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import jwt
import pytest
from callers import SECRET, bearer, submit, token
from event_frames import frames_of
from jobdeck_backend import clock
from jobdeck_backend.api import caller
from jobdeck_backend.identity.principal import Principal
from running_backend import JOBS, RunningBackend
from starting_backends import StartBackend, one_backend

ALICE, BOB = bearer("alice"), bearer("bob")
VIEWER, OPERATOR, DRILL = (bearer("olga", role) for role in ("viewer", "operator", "drill"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    where = tmp_path_factory.mktemp("guarded")
    with one_backend(where, "--auth", JOBDECK_TOKEN_SECRET=SECRET) as running:
        yield running


@pytest.fixture(scope="module")
def job_of_alice(guarded: RunningBackend) -> str:
    job_id = submit(guarded, ALICE, input=json.dumps({"output": "kept between us"})).json()["job_id"]
    guarded.http.headers.update(VIEWER)
    guarded.wait_for(job_id)
    guarded.http.headers.pop("authorization")
    return str(job_id)


BAD_TOKENS = {
    "none": (None, "token_missing"),
    "no bearer": ("Basic YWxpY2U6", "token_invalid"),
    "empty": ("Bearer", "token_invalid"),
    "no token": ("Bearer nonsense", "token_invalid"),
    "unsigned": (f"Bearer {jwt.encode({'sub': 'alice', 'exp': 9e9}, None, 'none')}", "token_invalid"),
    "another's signature": (f"Bearer {token(key='x' * 40)}", "token_invalid"),
    "another issuer": (f"Bearer {token(iss='https://elsewhere.example')}", "token_invalid"),
    "another audience": (f"Bearer {token(aud='another-service')}", "token_invalid"),
    "no audience": (f"Bearer {token(aud=None)}", "token_invalid"),
    "expired": (f"Bearer {token(exp=time.time() - 1)}", "token_expired"),
    "not yet valid": (f"Bearer {token(nbf=time.time() + 3600)}", "token_invalid"),
    "never expiring": (f"Bearer {token(exp=float('inf'))}", "token_invalid"),
    "a time that is none": (f"Bearer {token(exp='tomorrow')}", "token_invalid"),
    "10,000 characters": (f"Bearer {token('a' * 20_000)}", "token_invalid"),
}


OBJECTIONS = {
    "no token": "it is no JSON Web Token",
    "unsigned": "its algorithm is not taken",
    "another's signature": "its signature is not one of this server's keys",
    "another issuer": "its issuer is another one",
    "another audience": "it is for another audience",
    "no audience": "it lacks one of exp, iss and aud",
}


@pytest.mark.parametrize("given", OBJECTIONS)
def test_what_is_wrong_with_a_token_is_said_in_words(guarded: RunningBackend, given: str) -> None:
    header, _ = BAD_TOKENS[given]
    assert header is not None
    said = submit(guarded, {"authorization": header}).json()["detail"]
    assert said == f"the token is not valid here: {OBJECTIONS[given]}; nothing was done"


@pytest.mark.parametrize("given", BAD_TOKENS)
def test_r32_who_was_not_verified_is_told_why_and_nothing_is_stored(
    guarded: RunningBackend, given: str
) -> None:
    header, code = BAD_TOKENS[given]
    answer = submit(guarded, {} if header is None else {"authorization": header}, job_id="unverified")
    assert (answer.status_code, answer.json()["error"]) == (401, code), answer.text
    assert answer.headers["www-authenticate"] == "Bearer"
    known = guarded.http.get(f"{JOBS}/job/unverified", headers=VIEWER)
    assert known.status_code == 404


@pytest.mark.parametrize(
    "extra",
    [{"cookie": "nat-session=alice"}, {"x-user": "alice"}, {"x-api-key": "alice"}],
    ids=["cookie", "header", "key"],
)
def test_r32_a_routing_cookie_or_a_header_is_nobody(
    guarded: RunningBackend, job_of_alice: str, extra: dict[str, str]
) -> None:
    assert guarded.http.get(f"{JOBS}/job/{job_of_alice}", headers=extra).status_code == 401
    assert guarded.http.get(f"{JOBS}/job/{job_of_alice}", headers={**BOB, **extra}).status_code == 404


def test_r32_two_authorizations_are_none(guarded: RunningBackend) -> None:
    both = [("authorization", ALICE["authorization"]), ("authorization", BOB["authorization"])]
    assert guarded.http.get("/agents", headers=both).status_code in (401, 404)
    answer = guarded.http.get(f"{JOBS}/agents", headers=both)
    assert (answer.status_code, answer.json()["error"]) == (401, "token_invalid")


def test_r32_a_token_that_names_nobody_is_403(guarded: RunningBackend) -> None:
    assert submit(guarded, bearer(" ")).status_code == 403
    assert submit(guarded, bearer("a\x1b[2J")).status_code == 403
    assert submit(guarded, bearer("a" * 200)).status_code == 403


def test_what_watches_a_server_needs_no_name(guarded: RunningBackend) -> None:
    assert guarded.http.get("/health").status_code == 200
    assert guarded.http.get("/live").status_code == 200


def job_routes(backend: RunningBackend) -> list[tuple[str, str]]:
    """Every route of both contracts that names a job."""
    paths = backend.http.get("/openapi.json").json()["paths"]
    return [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if "{job_id}" in path and not path.startswith("/v1/ops")
    ]


def test_i16_anothers_job_is_the_same_as_none_on_every_route(
    guarded: RunningBackend, job_of_alice: str
) -> None:
    routes = job_routes(guarded)
    assert len(routes) >= 10
    for method, path in routes:
        filled = path.replace("{cursor}", "0").replace("{artifact_id}", "art_0")

        def ask(
            job_id: str, who: dict[str, str], method: str = method, filled: str = filled
        ) -> httpx.Response:
            body = {"input": "shorter"} if method == "POST" else None
            return guarded.http.request(method, filled.replace("{job_id}", job_id), json=body, headers=who)

        anothers, none = ask(job_of_alice, BOB), ask("no-such-job", BOB)
        assert anothers.status_code == none.status_code == 404, (path, anothers.text)
        assert anothers.text == none.text.replace("no-such-job", job_of_alice), path
        assert "kept between us" not in anothers.text
    assert guarded.http.get(f"{JOBS}/job/{job_of_alice}", headers=ALICE).status_code == 200
    assert guarded.http.get(f"{JOBS}/job/{job_of_alice}/report", headers=ALICE).status_code == 200


def test_i16_an_id_that_is_anothers_starts_nothing_and_tells_nothing(
    guarded: RunningBackend, job_of_alice: str
) -> None:
    taken = submit(guarded, BOB, job_id=job_of_alice)
    assert (taken.status_code, taken.json()) == (409, {"detail": f"Job already exists: {job_of_alice}"})
    own = submit(guarded, ALICE, job_id=job_of_alice)
    assert own.json() == {"detail": f"Job already exists: {job_of_alice}", "request_matches": False}
    body = {"workflow": "probe", "input_message": "{}", "job_id": job_of_alice}
    lax = guarded.http.post("/v1/workflow/async", json=body, headers=BOB)
    assert (lax.status_code, lax.json()) == (409, {"detail": f"Job already exists: {job_of_alice}"})
    known = guarded.http.post("/v1/workflow/async", json=body, headers=ALICE)
    assert (known.status_code, known.json()["status"]) == (200, "success")


def test_i16_nobody_waits_for_anothers_job_nor_goes_on_with_its_thread(
    guarded: RunningBackend, job_of_alice: str
) -> None:
    waits, no_such = (submit(guarded, BOB, after=[job_id]) for job_id in (job_of_alice, "no-such-job"))
    assert waits.status_code == no_such.status_code == 422
    assert waits.text == no_such.text.replace("no-such-job", job_of_alice)
    assert submit(guarded, ALICE, after=[job_of_alice]).status_code == 202

    assert submit(guarded, ALICE, thread_id="talk").status_code == 202
    guarded.http.headers.update(VIEWER)
    try:
        (first,) = guarded.http.get("/v1/ops/jobs", params={"filter": "thread:talk"}).json()["jobs"]
        guarded.wait_for(first["job_id"])
    finally:
        guarded.http.headers.pop("authorization")

    def refused() -> list[tuple[int, str]]:
        bodies: list[dict[str, str]] = [{"thread_id": "talk"}, {"job_id": "talk"}]
        return [
            (answer.status_code, answer.json()["detail"])
            for answer in (submit(guarded, BOB, **body) for body in bodies)
        ]

    idle = refused()
    assert idle == [(409, "thread talk has an unfinished job or is not yours; nothing was stored")] * 2
    assert submit(guarded, ALICE, thread_id="talk", input=long_probe()).status_code == 202
    assert refused() == idle  # nor whether something runs on it


def operations_routes(backend: RunningBackend) -> list[tuple[str, str]]:
    paths = backend.http.get("/openapi.json").json()["paths"]
    return [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if path.startswith("/v1/ops") and path != "/v1/ops/preferences"
    ]


def test_r36_without_a_role_nothing_of_the_operations_is_seen_or_done(
    guarded: RunningBackend, job_of_alice: str
) -> None:
    routes = operations_routes(guarded)
    assert len(routes) >= 30
    for method, path in routes:
        filled = path.replace("{job_id}", job_of_alice)
        for who in (ALICE, VIEWER) if method not in ("GET", "HEAD") else (ALICE,):
            answer = guarded.http.request(method, filled, json={} if method != "GET" else None, headers=who)
            assert (answer.status_code, answer.json()["detail"]["code"]) == (403, "not_allowed"), path
    for path in ("/metrics", "/metrics%0A", "/openapi.json%0A", "/v1/ops/preferences%0A", "/of-another-day"):
        assert guarded.http.get(path, headers=ALICE).status_code == 403, path


def test_r36_a_viewer_sees_an_operator_acts_and_each_refusal_is_on_record(
    guarded: RunningBackend, job_of_alice: str
) -> None:
    row = guarded.http.get(f"/v1/ops/jobs/{job_of_alice}", headers=VIEWER).json()["job"]
    assert row["owner"] == "alice jobdeck"
    waiting = submit(guarded, ALICE, after=[submit(guarded, ALICE, input=long_probe()).json()["job_id"]])
    job_id = waiting.json()["job_id"]
    assert guarded.http.post(f"/v1/ops/jobs/{job_id}/cancel", json={}, headers=VIEWER).status_code == 403
    assert guarded.http.post(f"{JOBS}/job/{job_id}/cancel", headers=VIEWER).status_code == 404
    drill = {"fault": "stream-drop", "confirm": "stream-drop"}
    assert guarded.http.post("/v1/ops/drills", json=drill, headers=OPERATOR).status_code == 403
    assert guarded.http.post(f"/v1/ops/jobs/{job_id}/cancel", json={}, headers=OPERATOR).status_code == 200
    acts = guarded.http.get("/v1/ops/audit?newest=true", headers=VIEWER).json()["acts"]
    done = [(one["actor"], one["act"], one["result"].split(",")[0]) for one in acts]
    assert ("olga jobdeck", "denied", "refused: not_allowed") in done
    assert any(actor == "olga jobdeck" and act == "cancel" for actor, act, _ in done)


def test_i16_what_is_wrong_with_a_request_does_not_tell_anothers_job_from_none(
    guarded: RunningBackend, job_of_alice: str
) -> None:
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/stream", {"headers": {**BOB, "last-event-id": "no number"}}),
        ("GET", "/stream/nowhere", {}),
        ("GET", "/no-such-route", {}),
        ("PUT", "", {}),
        ("POST", "/report/edit", {"content": b"no JSON"}),
        ("POST", "/cancel", {"content": b"no JSON"}),
    ]
    for method, rest, options in wrong:
        anothers, none = (
            guarded.http.request(method, f"{JOBS}/job/{job_id}{rest}", **{"headers": BOB, **options})
            for job_id in (job_of_alice, "no-such-job")
        )
        assert anothers.status_code == none.status_code == 404, (method, rest)
        assert anothers.text == none.text.replace("no-such-job", job_of_alice), (method, rest)


def test_r36_who_may_nothing_cannot_fill_the_audit_with_it(guarded: RunningBackend) -> None:
    mallory = bearer("mallory")

    def on_record() -> list[str]:
        acts = guarded.http.get("/v1/ops/audit?newest=true&limit=1000", headers=VIEWER).json()["acts"]
        return [one["result"] for one in acts if one["actor"] == "mallory jobdeck"]

    for _ in range(150):
        assert guarded.http.post("/v1/ops/prune", json={}, headers=mallory).status_code == 403
        assert guarded.http.post(f"{JOBS}/job/no-such-job/cancel", headers=mallory).status_code == 404
    kept = on_record()
    assert 60 <= len(kept) <= 120  # a minute may have ended meanwhile
    assert any("not on record" in result for result in kept)


def long_probe(seconds: float = 3) -> str:
    return json.dumps({"stages": [{"name": "long", "seconds": seconds}]})


def test_r33_preferences_are_each_callers_own(guarded: RunningBackend) -> None:
    path = "/v1/ops/preferences"
    written = guarded.http.put(path, json={"theme": "night"}, headers={**ALICE, "if-match": "0"})
    assert written.status_code == 200
    assert guarded.http.get(path, headers=BOB).json() == {"revision": 0, "value": {}}
    assert guarded.http.get(path, headers=ALICE).json()["value"] == {"theme": "night"}


def test_r32_a_stream_ends_with_its_callers_token(guarded: RunningBackend) -> None:
    short = bearer("alice", exp=time.time() + 2)
    job_id = submit(guarded, short, input=json.dumps({"stages": [{"name": "long", "seconds": 8}]})).json()[
        "job_id"
    ]
    began = time.monotonic()
    with guarded.http.stream("GET", f"{JOBS}/job/{job_id}/stream", headers=short) as response:
        frames = list(frames_of(response))
    assert time.monotonic() - began < 6
    assert frames[-1].data.get("status") not in {"success", "failure", "interrupted"}
    again = guarded.http.get(f"{JOBS}/job/{job_id}/stream", headers=short)
    assert (again.status_code, again.json()["error"]) == (401, "token_expired")
    with guarded.http.stream("GET", f"{JOBS}/job/{job_id}/stream", headers=ALICE) as response:
        assert list(frames_of(response))[-1].data["status"] == "success"


def test_r32_an_answer_waits_no_longer_than_its_callers_token_is_valid(guarded: RunningBackend) -> None:
    body = {"workflow": "probe", "input_message": long_probe(20), "job_id": "awaited", "sync_timeout": 60}
    began = time.monotonic()
    answer = guarded.http.post(
        "/v1/workflow/async", json=body, headers=bearer("alice", exp=time.time() + 1.5)
    )
    assert (answer.status_code, answer.json()["status"]) == (202, "submitted")
    assert 0.5 < time.monotonic() - began < 10
    assert guarded.http.post(f"{JOBS}/job/awaited/cancel", headers=ALICE).status_code == 200


def test_r32_a_stream_that_always_has_frames_ends_with_its_callers_token() -> None:
    async def frames() -> AsyncIterator[bytes]:
        while True:
            yield b"frame"

    async def read_on() -> bool:
        begun = time.monotonic()
        asking = Principal("jobdeck", "alice", frozenset(), clock.now() + 0.2)
        with caller.known_as(asking):
            async for _frame in caller.until_expiry(frames()):
                if time.monotonic() - begun > 5:
                    return False
        return time.monotonic() - begun >= 0.1

    assert asyncio.run(read_on())


def test_limits_are_counted_for_each_caller_alone(start_backend: StartBackend) -> None:
    limits = {"JOBDECK_UNFINISHED_JOBS_PER_PRINCIPAL_MAX": "1", "JOBDECK_TOKEN_SECRET": SECRET}
    backend = start_backend("--auth", **limits)
    assert submit(backend, ALICE, input=long_probe()).status_code == 202
    assert submit(backend, ALICE).status_code == 429
    assert submit(backend, BOB).status_code == 202


def test_a_token_of_jobdecks_own_is_made_with_the_state_directorys_secret(
    start_backend: StartBackend,
) -> None:
    backend = start_backend("--auth")
    assert (backend.state_dir / "token-secret").stat().st_mode & 0o777 == 0o600
    command = [sys.executable, "-m", "jobdeck_backend.identity", "olga", "--role", "viewer", "--hours", "1"]
    made = subprocess.run(
        command,
        env={"JOBDECK_STATE_DIR": str(backend.state_dir), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    who = {"authorization": f"Bearer {made.stdout.strip()}"}
    assert backend.http.get("/v1/ops/overview", headers=who).status_code == 200
    assert backend.http.get("/v1/ops/overview").status_code == 401
