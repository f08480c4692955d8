"""How much of a request's head is read: uvicorn's parser keeps all of it, and joins it anew with each piece.

Tens of megabytes in one header would stop the server for seconds and stay in its memory.
"""

from http import HTTPStatus

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES_MAX = 512 << 10
"""Of URL and headers together, to the nearest piece that is read at once (a quarter megabyte)."""


class BoundedHeadProtocol(HttpToolsProtocol):
    """Uvicorn's, ending a connection on which for ``HEAD_BYTES_MAX`` no head and no piece of a body ended."""

    _unfinished_bytes = 0

    def data_received(self, data: bytes) -> None:
        """What came in."""
        super().data_received(data)
        self._unfinished_bytes += len(data)
        if self._unfinished_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        """A head ended."""
        self._unfinished_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._unfinished_bytes = 0
        super().on_body(body)

    def _refuse(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # nobody's answer comes between
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            body = orjson.dumps({"detail": f"a request's head may have at most {HEAD_BYTES_MAX} bytes"})
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
