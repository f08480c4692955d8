"""Every open stream of this server at once: how many there are, dropping them, reading as one of them."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from jobdeck_backend.api.feed import Feed
from jobdeck_backend.api.streams import Streaming, job_frames

ID = b"id: "


class OpenStreams:
    """The ``Streams`` of drills."""

    def __init__(self, streaming: Streaming, feed: Feed) -> None:
        self._streaming = streaming
        self._feed = feed

    @property
    def subscribers(self) -> int:
        """Streams of jobs and of the feed that are open now."""
        return self._streaming.tailer.subscribers + self._feed.subscribers

    def drop_all(self) -> int:
        """End all of them without a farewell, as a broken network does; answers how many."""
        dropped = self.subscribers
        self._streaming.tailer.drop_all()
        self._feed.drop_all()
        return dropped

    async def read(self, job_id: str, cursor: int) -> AsyncIterator[int]:
        """One job's stream after ``cursor``, frame by frame as a client gets it: its events' numbers."""
        async with aclosing(job_frames(self._streaming, job_id, cursor)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                for line in chunk.split(b"\n"):
                    if line.startswith(ID):
                        yield int(line.removeprefix(ID))
