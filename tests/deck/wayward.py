"""A server that answers on a real socket with exactly the bytes a test wants, broken ones too."""

import asyncio
import json
import re
from contextlib import asynccontextmanager

EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def frame(event, data, identity=None):
    """Give one server-sent event as bytes."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"id: {identity}\n" if identity is not None else ""
    return f"{head}event: {event}\ndata: {text}\n\n".encode()


def answer(status, body, kind="application/json"):
    """Give one whole response as bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + content


class Wayward:
    """Answers the first request with the first script, and so on; the last script is used again."""

    def __init__(self, *scripts):
        self._scripts = list(scripts)
        self.requests = []
        self.url = ""

    async def serve_one(self, reader, writer):
        """Read one request and play its script."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        self.requests.append(head)
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        try:
            for piece in script:
                if piece is None:
                    await reader.read()  # hold the connection open until the client leaves
                else:
                    writer.write(piece)
                    await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def wayward(*scripts):
    """Run a wayward server; a script is a list of bytes, None in it holds the connection open."""
    server = Wayward(*scripts)
    listening = await asyncio.start_server(server.serve_one, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


async def take(items, count):
    """Give the first ``count`` items of an endless iterator and close it."""
    taken = []
    async for item in items:
        taken.append(item)
        if len(taken) == count:
            break
    await items.aclose()
    return taken
