"""``python -m tests.bench.http_load HOST PORT CONNECTIONS REQUESTS RATE WHAT [WORD]``: a plain HTTP client.

``submit QUEUE`` submits no-op jobs, ``name QUEUE`` jobs with ids and deadlines, which ``granting`` then moves.
RATE is requests a second, 0 for as many as are answered.

A process of its own with a bare socket protocol, so that the client costs the machine as little as it can. It
prints one JSON object: accepted, errors, seconds, and every request's latency.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable


class Connection(asyncio.Protocol):
    """One keep-alive connection: the next request goes when the last one was answered."""

    def __init__(self, load: "Load") -> None:
        self._load = load
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        self._received = b""
        self._load.answered(time.perf_counter() - self._sent_at, accepted=head.startswith(b"HTTP/1.1 20"))
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost()

    def _send(self) -> None:
        number = self._load.take()
        if number is None:
            self._transport.close()
        else:
            asyncio.get_running_loop().call_later(self._load.pause_s(number), self._write, number)

    def _write(self, number: int) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._load.request(number))


def request_of(host: str, what: str, word: str, number: int) -> bytes:
    """The bytes of one request."""
    job_id = f"bench-{number}"
    path, body = "/v1/jobs/async/submit", {"agent_type": "probe", "input": "{}", "queue": word}
    if what == "name":
        body |= {"job_id": job_id, "deadline_seconds": 36_000}
    text = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode()


class Load:
    """What all connections share."""

    def __init__(self, connections: int, requests: int, rate: float, request: Callable[[int], bytes]) -> None:
        self.request = request
        self.latencies: list[float] = []
        self.errors = 0
        self.over = asyncio.Event()
        self._rate = rate
        self._requests = requests
        self._taken = 0
        self._open = connections
        self._began = time.perf_counter()

    def take(self) -> int | None:
        """The number of the next request, None when all are sent."""
        if self._taken == self._requests:
            return None
        self._taken += 1
        return self._taken

    def pause_s(self, number: int) -> float:
        """How long until that request's turn."""
        turn = self._began + number / self._rate if self._rate else 0.0
        return max(0.0, turn - time.perf_counter())

    def answered(self, latency: float, *, accepted: bool) -> None:
        """One answer came."""
        self.latencies.append(latency)
        self.errors += not accepted

    def lost(self) -> None:
        """One connection is closed."""
        self._open -= 1
        if self._open == 0:
            self.over.set()


async def main(
    host: str, port: int, connections: int, requests: int, rate: float, what: str, word: str = ""
) -> dict[str, object]:
    """Send all requests; what came of them."""
    loop = asyncio.get_running_loop()
    load = Load(connections, requests, rate, lambda number: request_of(host, what, word, number))
    began = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(load), host, port)
    await load.over.wait()
    seconds = time.perf_counter() - began
    missing = requests - len(load.latencies)
    return {
        "accepted": len(load.latencies) - load.errors,
        "errors": load.errors + missing,
        "seconds": seconds,
        "latencies": load.latencies,
    }


if __name__ == "__main__":
    host, port, connections, requests, rate, *what = sys.argv[1:]
    told = asyncio.run(main(host, int(port), int(connections), int(requests), float(rate), *what))
    print(json.dumps(told))
