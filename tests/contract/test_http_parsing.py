"""What is no HTTP is refused in JSON and disturbs no answer; an offer of another protocol is passed over."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from running_backend import JOBS, RunningBackend, wait_until

HOST = b"Host: 127.0.0.1\r\n"
BODY = b'{"agent_type": "probe", "input": "{}"}'
SUBMIT = f"POST {JOBS}/submit HTTP/1.1\r\n".encode() + HOST + b"Content-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
LIVE = b"GET /live HTTP/1.1\r\n" + HOST + b"\r\n"
H2C = b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
WEBSOCKET = (
    b"Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
LAST_CHUNK = b"\r\n0\r\n\r\n"


@contextmanager
def connected(backend: RunningBackend) -> Iterator[socket.socket]:
    """A connection that the test writes to as it likes."""
    url = backend.http.base_url
    with socket.create_connection((url.host, url.port), timeout=20) as caller:
        yield caller


def read_to_the_end(caller: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    received = b""
    try:
        while part := caller.recv(65_536):
            received += part
    except ConnectionResetError:
        pass  # what the server did not read any more
    return received


def read_until(caller: socket.socket, wanted: bytes, received: bytes = b"") -> bytes:
    """What comes, up to the piece with which ``wanted`` came."""
    while wanted not in received:
        part = caller.recv(65_536)
        assert part, received
        received += part
    return received


def answers(caller: socket.socket, count: int) -> list[tuple[int, dict]]:
    """The next answers' codes and JSON bodies."""
    found, received = [], b""
    while len(found) < count:
        received = read_until(caller, b"\r\n\r\n", received)
        head, _, rest = received.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
        while len(rest) < length:
            rest += caller.recv(65_536)
        found.append((int(head[9:12]), json.loads(rest[:length])))
        received = rest[length:]
    return found


NO_REQUESTS = {
    "words": b"words\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + bytes(100),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a proxy's": b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a proxy's, of a path": b"CONNECT / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path with a space": b"GET /live ly HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path that is not ASCII": b"GET /\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n",
    "such a path, offering another protocol": b"GET /\xc3\xa9 HTTP/1.1\r\n" + HOST + H2C + b"\r\n",
    "a length and chunks": SUBMIT + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + LIVE,
    "chunks and a length": SUBMIT + b"Transfer-Encoding: chunked\r\n" + LENGTH + b"\r\n0\r\n\r\n" + LIVE,
    "two lengths": SUBMIT + LENGTH + b"Content-Length: 1\r\n\r\n" + BODY,
    "a length below nothing": SUBMIT + b"Content-Length: -1\r\n\r\n",
    "a length of thirty digits": SUBMIT + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    "chunks of no size": SUBMIT + b"Transfer-Encoding: chunked\r\n\r\nsize\r\n" + BODY + b"\r\n0\r\n\r\n",
    "another coding": SUBMIT + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "NUL in a header": b"GET /live HTTP/1.1\r\nX: \0\r\n" + HOST + b"\r\n",
    "a header with a space": b"GET /live HTTP/1.1\r\nX : y\r\n" + HOST + b"\r\n",
    "a header of two lines": b"GET /live HTTP/1.1\r\nX: y\r\n z\r\n" + HOST + b"\r\n",
}


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_is_no_request_is_one_refusal_in_json_and_the_connections_end(
    backend: RunningBackend, name: str
) -> None:
    with connected(backend) as caller:
        caller.sendall(NO_REQUESTS[name])
        head, _, body = read_to_the_end(caller).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json" in head.lower()
    assert "detail" in json.loads(body)


def test_what_is_no_request_after_a_streams_comes_not_into_the_stream(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "long", "seconds": 60})
    with connected(backend) as caller:
        caller.sendall(f"GET {JOBS}/job/{job_id}/stream HTTP/1.1\r\n".encode() + HOST + b"\r\n")
        received = read_until(caller, b"event: job.status")
        caller.sendall(b"words\r\n\r\n")
        received += read_to_the_end(caller)
    assert received.count(b"HTTP/1.1 ") == 1
    assert not received.endswith(LAST_CHUNK), "a stream that was cut says so"
    backend.http.post(f"{JOBS}/job/{job_id}/cancel")


@pytest.mark.parametrize("offer", [H2C, WEBSOCKET, b"Upgrade: words\r\nConnection: upgrade\r\n"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_request_that_offers_another_protocol_is_answered_by_this_one(
    backend: RunningBackend, offer: bytes, *, apart: bool
) -> None:
    """As ``curl --http2`` and Java's client ask, whose bodies would be lost."""
    with connected(backend) as caller:
        for request in (
            SUBMIT + offer + LENGTH + b"\r\n",
            BODY + LIVE + SUBMIT + LENGTH + offer + b"\r\n" + BODY,
        ):
            caller.sendall(request)
            if apart:
                backend.http.get("/live")  # meanwhile the first piece was read
        (submitted, job), (alive, _), (again, other) = answers(caller, 3)
    assert (submitted, alive, again) == (202, 200, 202)
    assert job["job_id"] != other["job_id"]


def test_chunks_too_come_with_an_offer_of_another_protocol(backend: RunningBackend) -> None:
    chunks = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    with connected(backend) as caller:
        caller.sendall(SUBMIT + H2C + chunks + LIVE)
        assert [code for code, _ in answers(caller, 2)] == [202, 200]


def test_many_offers_in_one_piece_are_all_answered(backend: RunningBackend) -> None:
    count = 2_000
    with connected(backend) as caller:
        caller.sendall((LIVE[:-2] + b"Upgrade: x\r\nConnection: upgrade\r\n\r\n") * count)
        assert answers(caller, count) == [(200, {"status": "alive"})] * count


def test_curl_offering_http2_submits(backend: RunningBackend) -> None:
    command = ["curl", "--silent", "--http2", "--max-time", "20", "-H", "content-type: application/json"]
    asked = subprocess.run(
        [*command, "-d", BODY.decode(), f"{backend.url}{JOBS}/submit"], stdout=subprocess.PIPE, check=True
    )
    assert json.loads(asked.stdout)["status"] == "submitted"


def test_a_stream_with_requests_behind_it_ends_with_its_reader(backend: RunningBackend) -> None:
    """The connection belongs to the request that is answered, not to the one that came last."""
    job_id = backend.submit({"name": "talk", "seconds": 60, "events": 600})
    before = backend.log.read_text()
    for _ in range(5):
        with connected(backend) as caller:
            caller.sendall(f"GET {JOBS}/job/{job_id}/stream HTTP/1.1\r\n".encode() + HOST + b"\r\n" + LIVE)
            read_until(caller, b"event: job.status")
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
    wait_until(lambda: backend.overview()["streams"]["subscribers"] == 0, what="no stream is left")
    backend.http.post(f"{JOBS}/job/{job_id}/cancel")
    assert backend.log.read_text() == before
