"""A webhook's other end: a real HTTP server on loopback that keeps what it was told."""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Listener:
    """``statuses`` are answered in turn, the last one again and again; None never answers."""

    statuses: list[int | None]
    received: list[dict[str, Any]] = field(default_factory=list)
    arrivals: "queue.Queue[str]" = field(default_factory=queue.Queue)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)

    def take(self, path: str, headers: Any, body: bytes) -> int | None:
        self.received.append(
            {
                "path": path,
                "key": headers["Idempotency-Key"],
                "host": headers["Host"],
                "body": json.loads(body),
            }
        )
        self.arrivals.put(headers["Idempotency-Key"])
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]


@contextmanager
def listening(*statuses: int | None) -> Iterator[Listener]:
    listener = Listener(list(statuses) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = listener.take(self.path, self.headers, body)
            if status is None:
                listener.released.wait(60)
                return
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    listener.url = f"http://localhost:{server.server_port}/hooks/review?from=jobdeck"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield listener
    finally:
        listener.released.set()
        server.shutdown()
        server.server_close()
