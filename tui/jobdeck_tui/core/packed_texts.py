"""Many short texts that are alike, kept for somebody who may never ask for them: packed, oldest first."""

import zlib
from collections import deque
from typing import NamedTuple

BLOCK_TEXTS = 64
BLOCK_CHARACTERS = 1 << 16
"""A block of more holds one long text: that is kept as it is, for packing it would hold everything up."""
BETWEEN = "\0"
"""In no JSON text."""


class _Block(NamedTuple):
    packed: bytes
    texts: int


class PackedTexts:
    """A queue that takes about a tenth of the memory; what is taken out, or forgotten, goes a block at a time."""

    def __init__(self) -> None:
        self._blocks: deque[_Block] = deque()
        self._newest: list[str] = []
        self._newest_characters = 0
        self._packed_texts = 0
        self.bytes = 0
        """What the packed blocks take."""

    def __len__(self) -> int:
        return self._packed_texts + len(self._newest)

    def add(self, text: str) -> None:
        """Takes one text in as the newest."""
        self._newest.append(text)
        self._newest_characters += len(text)
        if len(self._newest) >= BLOCK_TEXTS or self._newest_characters >= BLOCK_CHARACTERS:
            self._pack()

    def forget_beyond(self, texts_max: int) -> None:
        """Forgets the oldest blocks as far as ``texts_max`` are left without them."""
        while self._blocks and len(self) - self._blocks[0].texts >= texts_max:
            self._drop_oldest()

    def take_oldest(self) -> list[str]:
        """Takes the oldest out, a block of them."""
        if not self._blocks:
            newest, self._newest, self._newest_characters = self._newest, [], 0
            return newest
        return zlib.decompress(self._drop_oldest().packed).decode().split(BETWEEN)

    def _pack(self) -> None:
        text = BETWEEN.join(self._newest).encode()
        level = zlib.Z_BEST_SPEED if len(text) < 2 * BLOCK_CHARACTERS else zlib.Z_NO_COMPRESSION
        block = _Block(zlib.compress(text, level), len(self._newest))
        self._newest, self._newest_characters = [], 0
        self._blocks.append(block)
        self._packed_texts += block.texts
        self.bytes += len(block.packed)

    def _drop_oldest(self) -> _Block:
        block = self._blocks.popleft()
        self._packed_texts -= block.texts
        self.bytes -= len(block.packed)
        return block
