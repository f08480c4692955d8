"""A way to a real server on which answers are lost, requests are, or everything stands still."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Lossy:
    """Passes everything on until told otherwise; ``lose_…_to``: parts of a path; ``flows``: answers pass."""

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target)
        self.url = ""
        self.lose_answers_to: str | None = None
        self.lose_requests_to: str | None = None
        self.refuses = False
        self.flows = asyncio.Event()
        self.flows.set()
        self._connections: set[asyncio.StreamWriter] = set()

    def lead_to(self, target: str) -> None:
        """Another server answers from now on."""
        self._target = urlsplit(target)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.close()
            return
        there, back = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._connections |= {writer, back}
        lost = asyncio.Event()
        pumps = [
            asyncio.create_task(self._requests(reader, back, lost)),
            asyncio.create_task(self._answers(there, writer, lost)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        for one in (writer, back):
            one.close()
        self._connections -= {writer, back}

    async def _requests(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        with suppress(ConnectionError):
            while piece := await source.read(65536):
                path = piece.split(b"\r\n", 1)[0].decode("latin-1")
                if path.startswith("POST") and self.lose_requests_to and self.lose_requests_to in path:
                    return
                if path.startswith("POST") and self.lose_answers_to and self.lose_answers_to in path:
                    lost.set()
                sink.write(piece)
                await sink.drain()

    async def _answers(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        with suppress(ConnectionError):
            while piece := await source.read(65536):
                if lost.is_set():
                    return
                await self.flows.wait()
                sink.write(piece)
                await sink.drain()

    def cut(self) -> None:
        """Ends every connection."""
        for one in list(self._connections):
            one.close()


@asynccontextmanager
async def lossy(target: str) -> AsyncIterator[Lossy]:
    """Opens the way for as long as it is wanted."""
    way = Lossy(target)
    listening = await asyncio.start_server(way.serve, "127.0.0.1", 0)
    way.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield way
    finally:
        listening.close()
        way.cut()
