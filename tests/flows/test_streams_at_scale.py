"""Streams that are long, heavy, many, dropped or never read (R26–R28). What they tell is written beside them."""

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import orjson
import psutil
from jobdeck_backend.clock import now
from jobdeck_backend.commands.notices import notice
from jobdeck_backend.store import events
from running_backend import JOBS, RunningBackend, wait_until

LONG = 30_000
MANY = 300
HEAVY_CHARS = 12_000_000
ODD = "a\u2028b\u2029c\u0085d\r\ne\rf\x00g\x0bh\ufeffi"


def accept(backend: RunningBackend) -> str:
    """A job that nobody starts: what its log says is the test's."""
    backend.http.post("/v1/ops/queues/unstarted/pause", json={}).raise_for_status()
    body = {"agent_type": "probe", "input": "{}", "queue": "unstarted", "job_id": f"scale-{uuid4().hex[:12]}"}
    answer = backend.http.post(f"{JOBS}/submit", json=body)
    answer.raise_for_status()
    return str(answer.json()["job_id"])


def say(backend: RunningBackend, job_id: str, *texts: str) -> int:
    """Append to a job's log from outside, in one commit; the last number."""
    with backend.database.write() as tx:
        return events.append(tx, job_id, [notice("log", now(), text) for text in texts], now())


def end(backend: RunningBackend, job_id: str) -> None:
    assert backend.http.post(f"{JOBS}/job/{job_id}/cancel").status_code == 200


def subscribers(backend: RunningBackend) -> int:
    return int(backend.overview()["streams"]["subscribers"])


@contextmanager
def raw_stream(backend: RunningBackend, job_id: str) -> Iterator[socket.socket]:
    """A stream asked for on a bare socket, of which nothing is read."""
    url = urlsplit(str(backend.http.base_url))
    assert url.port is not None
    with closing(socket.create_connection((url.hostname, url.port), 10)) as client:
        client.sendall(f"GET {JOBS}/job/{job_id}/stream HTTP/1.1\r\nHost: {url.hostname}\r\n\r\n".encode())
        yield client


def test_r27_a_replay_has_no_limit(backend: RunningBackend) -> None:
    job_id = accept(backend)
    say(backend, job_id, *["x"] * LONG)
    end(backend, job_id)
    log = backend.http.get(f"{JOBS}/job/{job_id}/stream").content
    ids = [int(number) for number in re.findall(rb"^id: (\d+)$", log, re.MULTILINE)]
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) > LONG
    assert log.rpartition(b"event: ")[2].startswith(b'job.status\ndata: {"status":"interrupted"')


def test_r27_each_cursor_by_path_or_header_goes_on_where_it_was_dropped_twice(
    backend: RunningBackend,
) -> None:
    job_id = accept(backend)
    last = say(backend, job_id, "one", "two", "three")
    for cursor in range(last + 1):
        for by_header in (False, True):
            asked = {"Last-Event-ID": str(cursor)} if by_header else {}
            for _ in range(2):
                with backend.stream(job_id, None if by_header else cursor, **asked) as frames:
                    seen = list(islice((frame.id for frame in frames if frame.id), last - cursor))
                assert seen == list(range(cursor + 1, last + 1))
    end(backend, job_id)


def data_of(received: Iterator[bytes], number: int) -> dict[str, Any]:
    """The data of one event as it comes over the wire: one line, whatever others take for the end of one."""
    text, head = b"", f"id: {number}\nevent: job.update\ndata: ".encode()
    while b"\n\n" not in text.partition(head)[2]:
        text += next(received)
    return dict(orjson.loads(text.partition(head)[2].partition(b"\n\n")[0]))


def test_r27_what_breaks_lines_elsewhere_breaks_no_frame_live_or_replayed(backend: RunningBackend) -> None:
    job_id = accept(backend)
    path = f"{JOBS}/job/{job_id}/stream"
    with backend.http.stream("GET", path) as response:
        received = response.iter_bytes()
        assert any(b"job.status" in piece for piece in received)
        number = say(backend, job_id, ODD)
        live = data_of(received, number)
    assert live["data"]["output"] == ODD
    with backend.http.stream("GET", f"{path}/{number - 1}") as response:
        assert data_of(response.iter_bytes(), number) == live
    end(backend, job_id)


def test_r28_an_event_of_12_mb_arrives_whole_and_one_that_reads_nothing_costs_the_others_nothing(
    backend: RunningBackend,
) -> None:
    job_id, process = accept(backend), psutil.Process(backend.pid)
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(raw_stream(backend, job_id))
        frames = stack.enter_context(backend.stream(job_id))
        assert next(frame for frame in frames if frame.event == "job.status")
        wait_until(lambda: subscribers(backend) >= 21)
        before = process.memory_info().rss
        heaviest = 0
        for letter in "abcde":
            number = say(backend, job_id, letter * HEAVY_CHARS)
            frame = next(frame for frame in frames if frame.id)
            assert frame.id == number
            assert frame.data["data"]["output"] == letter * HEAVY_CHARS
            heaviest = max(heaviest, process.memory_info().rss)
        # Without a bound each of the twenty would keep all five: more than a gigabyte.
        assert heaviest - before < 20 * HEAVY_CHARS
        end(backend, job_id)
        assert list(frames)[-1].data["status"] == "interrupted"
    wait_until(lambda: subscribers(backend) == 0, what="readers that left are forgotten")


def test_r28_readers_that_reset_before_the_body_leave_nothing_behind(backend: RunningBackend) -> None:
    job_id = accept(backend)
    for _ in range(50):
        with raw_stream(backend, job_id) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: subscribers(backend) == 0, what="readers that were reset are forgotten")
    number = say(backend, job_id, "still here")
    with backend.stream(job_id, number - 1) as frames:
        assert next(frame for frame in frames if frame.id).id == number
    end(backend, job_id)


def database_files(backend: RunningBackend) -> int:
    """How often the backend has its database open."""
    opened = psutil.Process(backend.pid).open_files()
    return sum(Path(one.path).name.startswith("jobdeck.db") for one in opened)


def test_r28_idle_streams_keep_no_connection_to_the_database_and_all_hear_of_the_end(
    backend: RunningBackend,
) -> None:
    job_id = accept(backend)
    with ExitStack() as stack:
        clients = [stack.enter_context(raw_stream(backend, job_id)) for _ in range(MANY)]
        wait_until(lambda: subscribers(backend) == MANY)
        wait_until(lambda: database_files(backend) < MANY / 3, what="what the replays opened is closed")
        end(backend, job_id)
        for client in clients:
            received = b""
            while b'"status":"interrupted"' not in received:
                piece = client.recv(1 << 16)
                assert piece, "the stream ended without its end"
                received += piece
