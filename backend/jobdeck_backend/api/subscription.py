"""One reader of the feed: the frames that wait for it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

FRAMES_WAITING_MAX = 2_000


class Subscription:
    """One deck's frames. A deck too slow for its bound is let go: it comes again with its cursor."""

    def __init__(self, *, wants_events: bool) -> None:
        self.wants_events = wants_events
        self.over = False
        self._frames: deque[bytes] = deque()
        self._arrived = asyncio.Event()

    def push(self, frame: bytes) -> bool:
        """Hand over a frame; False when the reader has too many already."""
        if len(self._frames) >= FRAMES_WAITING_MAX:
            self.end()
            return False
        self._frames.append(frame)
        self._arrived.set()
        return True

    def end(self) -> None:
        """Nothing more comes."""
        self.over = True
        self._arrived.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """What arrived, joined, until the end."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            if self._frames:
                frames = b"".join(self._frames)
                self._frames.clear()
                yield frames
            if self.over:
                return
