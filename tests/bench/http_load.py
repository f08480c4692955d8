"""``python -m tests.bench.http_load HOST PORT CONNECTIONS REQUESTS QUEUE``: submits no-op jobs at full speed.

A process of its own with a bare socket protocol, so that the client costs the machine as little as it can. It
prints one JSON object: accepted, errors, seconds, and every request's latency.
"""

import asyncio
import json
import sys
import time


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
        self._load.answered(time.perf_counter() - self._sent_at, accepted=head.startswith(b"HTTP/1.1 202"))
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost()

    def _send(self) -> None:
        if self._load.take():
            self._sent_at = time.perf_counter()
            self._transport.write(self._load.request)
        else:
            self._transport.close()


class Load:
    """What all connections share."""

    def __init__(self, host: str, connections: int, requests: int, queue: str) -> None:
        body = json.dumps({"agent_type": "probe", "input": "{}", "queue": queue}).encode()
        head = (
            f"POST /v1/jobs/async/submit HTTP/1.1\r\nHost: {host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.request = head.encode() + body
        self.latencies: list[float] = []
        self.errors = 0
        self.over = asyncio.Event()
        self._left = requests
        self._open = connections

    def take(self) -> bool:
        """Whether there is another request to send."""
        self._left -= 1
        return self._left >= 0

    def answered(self, latency: float, *, accepted: bool) -> None:
        """One answer came."""
        self.latencies.append(latency)
        self.errors += not accepted

    def lost(self) -> None:
        """One connection is closed."""
        self._open -= 1
        if self._open == 0:
            self.over.set()


async def main(host: str, port: int, connections: int, requests: int, queue: str) -> dict[str, object]:
    """Send all requests; what came of them."""
    loop = asyncio.get_running_loop()
    load = Load(host, connections, requests, queue)
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
    host, port, connections, requests, queue = sys.argv[1:]
    print(json.dumps(asyncio.run(main(host, int(port), int(connections), int(requests), queue))))
