"""What counts as a request, how much of its head is read, and how long it may take to come in.

Uvicorn's parser keeps all of a head and joins it anew with each piece: tens of megabytes in one header would stop
the server for seconds and stay in its memory. It waits for the rest of a request as long as anybody likes, loses
the body of one that offers another protocol, and loses sight of the one it answers when others come behind it.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES_MAX = 512 << 10
"""Of URL and headers together, to the nearest piece that is read at once (a quarter megabyte)."""
BODY_BYTES_PER_S_MIN = 1 << 10
"""Each of so many bytes of a body gives its request a second more."""


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's, ending a connection on which a request does not come in.

    A head has ``request_s`` from the connection's beginning or its own first byte, a body the same and a second
    for each ``BODY_BYTES_PER_S_MIN`` of it; and ``HEAD_BYTES_MAX`` may not come without a head or a piece of a
    body ending. What takes long to answer is none of it: once a request is whole, no clock runs.
    """

    request_s = 10.0

    _unfinished_bytes = 0
    _begun = False
    """Whether there is something of a request that is not whole."""
    _in_body = False
    _until: float | None = None
    """When what is awaited must have come; None while nothing is."""
    _timer: asyncio.TimerHandle | None = None
    """One at a time, set anew when it fires: requests come and go by the thousand."""
    _answering: RequestResponseCycle | None = None
    """The request whose turn it is; ``cycle`` is the one that came last."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A caller came."""
        super().connection_made(transport)
        self._await()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def data_received(self, data: bytes) -> None:
        """What came in."""
        if self._until is None:
            self._await()
        self._unset_keepalive_if_required()
        try:
            self._parse(memoryview(data))
        except httptools.HttpParserError:
            self._refuse(HTTPStatus.BAD_REQUEST, "this is no HTTP request")
            return
        self._unfinished_bytes += len(data)
        if self._unfinished_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            text = f"a request's head may have at most {HEAD_BYTES_MAX} bytes"
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text)

    def _parse(self, data: memoryview) -> None:
        """A request that offers another protocol is read again without its offer. Raises ``HttpParserError``."""
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = data[offer.args[0] :]
                head = b"%b %b HTTP/%b\r\n" % (
                    self.parser.get_method(),
                    self.url,
                    self.parser.get_http_version().encode(),
                )
                kept = (b"%b: %b\r\n" % field for field in self.headers if field[0] != b"upgrade")
                self.parser.feed_data(head + b"".join(kept) + b"\r\n")
            else:
                return

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller sends no more. What it asked for whole is answered, and the connection ends with the answer.

        Whether it still listens cannot be told; once an answer has begun, it might be a stream to nobody.
        """
        if not self._is_answering() or self._begun or self.cycle.response_started:
            return False  # closed
        last = self.pipeline[0][0] if self.pipeline else self.cycle
        last.keep_alive = False
        return True

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._begun, self._in_body = True, False
        self._await()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head ended."""
        self._unfinished_bytes = 0
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("this is no proxy")
            return
        super().on_headers_complete()
        self._in_body = True
        self._await()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._unfinished_bytes = 0
        if self._until is not None and self._is_answering():  # of what is thrown away no more is awaited
            self._until += len(body) / BODY_BYTES_PER_S_MIN
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        if self.parser.should_upgrade():
            return
        self._begun = self._in_body = False
        if self.cycle is None or self.cycle.response_complete:
            self._await()  # answered before: nobody else would end a connection that stays silent now
        else:
            self._until = None
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _await(self) -> None:
        self._until = self.loop.time() + self.request_s
        if self._timer is None:
            self._timer = self.loop.call_later(self.request_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._until is None or self.transport.is_closing():
            return
        left = self._until - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(left, self._look)
        elif self.flow.read_paused or (not self._in_body and self._is_answering()):
            self._await()  # it is us who let the caller wait
        else:
            # A process that was stopped comes here late, yet not before what came meanwhile was read.
            text = f"the request did not come in within {self.request_s:g} s"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, text)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _may_answer(self) -> bool:
        """Who asked nothing is told nothing, and nobody's answer comes between."""
        if self.cycle is None or self.cycle.response_complete:
            return self._begun and not self._in_body
        return self._in_body and not self.cycle.response_started and not self.pipeline

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        if self._may_answer():
            body = orjson.dumps({"detail": text})
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def bounded(request_s: float) -> type[BoundedProtocol]:
    """The protocol with this bound: uvicorn takes a class."""

    class Bounded(BoundedProtocol):
        pass

    Bounded.request_s = request_s
    return Bounded
