"""An issuer's keys, in a file or over HTTP: slow, away, broken, or others than before (R32)."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from callers import bearer, submit
from cryptography.hazmat.primitives.asymmetric import rsa
from jobdeck_backend.errors import TokenInvalid, Unavailable
from jobdeck_backend.identity import keys
from jobdeck_backend.identity.keys import KeyServer, public_keys
from jobdeck_backend.settings import Settings
from pydantic import ValidationError
from running_backend import JOBS, StartError
from starting_backends import StartBackend

Handler = BaseHTTPRequestHandler
ISSUER = "https://issuer.example"
FIRST, SECOND = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


def key_set(**named: Any) -> bytes:
    shown = [
        {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": name}
        for name, key in named.items()
    ]
    return json.dumps({"keys": shown}).encode()


def test_r32_an_issuers_keys_verify_its_tokens_and_no_others(
    start_backend: StartBackend, tmp_path: Path
) -> None:
    key, other = FIRST, SECOND
    file = tmp_path / "keys.json"
    file.write_text(key_set(one=key).decode())
    backend = start_backend(
        "--auth", JOBDECK_AUTH_KEYS=str(file), JOBDECK_AUTH_ISSUER=ISSUER, JOBDECK_AUTH_AUDIENCE="deck"
    )

    def asked(**claims: Any) -> int:
        who = bearer("alice", **{"iss": ISSUER, "aud": "deck", "algorithm": "RS256", "key": key, **claims})
        return submit(backend, who).status_code

    assert asked() == 202
    assert asked(key=other) == 401
    assert asked(aud="jobdeck") == 401
    public = json.loads(file.read_text())["keys"][0]["n"]
    assert asked(key=public, algorithm="HS256") == 401  # what everybody can read signs nothing
    file.write_text(key_set(another=other).decode())
    assert asked(key=other) == 202  # the issuer has new keys
    file.write_text("half of")
    assert [asked(key=other, sub=str(number)) for number in range(5)] == [202] * 5
    assert backend.log.read_text().count("the issuer's keys cannot be read") == 1


def test_a_start_without_usable_keys_is_one_sentence(start_backend: StartBackend, tmp_path: Path) -> None:
    symmetric = tmp_path / "keys.json"
    symmetric.write_text(json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}))
    for variables, said in (
        ({"JOBDECK_AUTH_KEYS": str(tmp_path / "missing.json")}, "no keys can be read"),
        ({"JOBDECK_AUTH_KEYS": str(symmetric)}, "no public key"),
        ({"JOBDECK_TOKEN_SECRET": "short"}, "fewer than 32 bytes"),
    ):
        with pytest.raises(StartError) as refused:
            start_backend("--auth", **variables)
        assert said in refused.value.stderr
        assert refused.value.exit_code == 15
        assert "Traceback" not in refused.value.stderr


class Issuer:
    """Answers with ``body``, or as ``answer`` does."""

    def __init__(self) -> None:
        self.url = ""
        self.body = key_set(first=FIRST)
        self.answer: Callable[[Handler], None] | None = None
        self.asked = 0
        self.released = threading.Event()

    def hang(self, _handler: Handler) -> None:
        self.released.wait(60)

    def drip(self, handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not self.released.wait(0.2):
            handler.wfile.write(b" ")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    one = Issuer()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            one.asked += 1
            try:
                if one.answer is not None:
                    one.answer(self)
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(one.body)
            except OSError:
                pass  # who asked has heard enough

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    one.url = f"http://127.0.0.1:{server.server_port}/keys"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield one
    finally:
        one.released.set()
        server.shutdown()
        server.server_close()


def answering(status: int, **headers: str) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(key_set(first=FIRST))

    return answer


BROKEN = {
    "a page": b"<html>",
    "no object": b"[1]",
    "no list": b'{"keys": 7}',
    "none": b'{"keys": []}',
    "a secret": b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]}',
    "endless brackets": b"[" * 100_000,
    "endless blanks": b" " * (8 << 20),
    "half": key_set(first=FIRST)[:80],
}


@pytest.mark.parametrize("what", BROKEN)
def test_r32_what_is_no_key_set_verifies_nobody_and_is_not_the_callers_fault(
    issuer: Issuer, what: str
) -> None:
    issuer.body = BROKEN[what]

    async def ask() -> None:
        server = KeyServer(issuer.url)
        for _ in range(2):  # nor is it the second caller's, for whom nobody is asked again
            with pytest.raises(Unavailable):
                await server.key({"kid": "first"})

    asyncio.run(ask())
    assert issuer.asked == 1


def test_r32_an_issuer_that_fails_or_sends_elsewhere_is_not_believed(issuer: Issuer) -> None:
    for answer in (answering(500), answering(302, Location="/keys?again")):
        issuer.answer = answer
        with pytest.raises(Unavailable):
            asyncio.run(KeyServer(issuer.url).key({"kid": "first"}))
    assert issuer.asked == 2


def test_r32_a_key_that_cannot_be_read_does_not_take_the_others_along() -> None:
    (good,) = json.loads(key_set(first=FIRST))["keys"]
    bad = [
        {"kty": ["RSA"]},
        {**good, "alg": "none"},
        {**good, "alg": ["RS256"]},
        {**good, "n": 5},
        {**good, "use": "enc"},
        "text",
    ]
    assert [one.key_id for one in public_keys(json.dumps({"keys": [*bad, good]}).encode())] == ["first"]


def test_r32_who_invents_keys_holds_nobody_up_and_has_the_issuer_asked_once(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "FETCH_PAUSE_S", 0.0)

    async def ask() -> None:
        server = KeyServer(issuer.url)
        await server.key({"kid": "first"})
        issuer.answer = issuer.hang
        inventing = [asyncio.create_task(server.key({"kid": f"invented-{n}"})) for n in range(60)]
        await asyncio.sleep(0)
        async with asyncio.timeout(1):
            assert (await server.key({"kid": "first"})).key_id == "first"
        issuer.answer = None
        issuer.released.set()
        refused = await asyncio.gather(*inventing, return_exceptions=True)
        assert all(isinstance(one, TokenInvalid | Unavailable) for one in refused), refused

    asyncio.run(ask())
    assert issuer.asked == 2


async def until_refused(server: KeyServer) -> None:
    async with asyncio.timeout(10):
        while True:
            await server.key({"kid": "first"})
            await asyncio.sleep(0.01)


def test_r32_a_key_the_issuer_took_back_counts_no_longer_than_it_is_away(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "FETCH_PAUSE_S", 0.0)
    monkeypatch.setattr(keys, "TRUSTED_S", 0.0)

    async def ask() -> None:
        server = KeyServer(issuer.url)
        await server.key({"kid": "first"})
        issuer.answer = answering(500)
        asked = issuer.asked
        while issuer.asked < asked + 2:  # it is away, and asked again and again
            assert (await server.key({"kid": "first"})).key_id == "first"
            await asyncio.sleep(0.01)
        issuer.answer, issuer.body = None, key_set(second=SECOND)
        with pytest.raises(TokenInvalid):
            await until_refused(server)
        assert (await server.key({"kid": "second"})).key_id == "second"

    asyncio.run(ask())


def test_r32_an_issuer_that_never_comes_to_an_end_is_given_up(
    issuer: Issuer, start_backend: StartBackend
) -> None:
    backend = start_backend(
        "--auth", JOBDECK_AUTH_KEYS=issuer.url, JOBDECK_AUTH_ISSUER="issuer", JOBDECK_AUTH_AUDIENCE="deck"
    )
    who = bearer("alice", iss="issuer", aud="deck", algorithm="RS256", key=FIRST)
    issuer.answer = issuer.drip
    answer = backend.http.get(f"{JOBS}/agents", headers=who)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")


@pytest.mark.parametrize(
    "place",
    ["http://issuer.example/keys", "http://localhost:80@issuer.example/keys", "ftp://localhost:21/keys"],
)
def test_r32_keys_come_by_no_way_on_which_they_could_be_changed(place: str) -> None:
    with pytest.raises(ValidationError, match="must be a file or an https"):
        Settings(auth_keys=place)
    assert Settings(auth_keys="http://localhost:8080/keys").auth_keys
    assert Settings(auth_keys="https://issuer.example/keys").auth_keys
