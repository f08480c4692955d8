"""A document as its bare words, each knowing where it stands.

Licences are quoted with other line breaks, quotation marks, bullets and comment signs; their words stay.
Patterns are matched on the words and answered in positions of the original text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SPELLINGS = {"licence": "license", "licences": "licenses", "sublicence": "sublicense"}
_SHORT_GAP, _LONG_GAP = 12, 60


@dataclass(frozen=True)
class Span:
    """Where something stands in the document: character offsets, the end not included."""

    start: int
    end: int


class Words:
    """The words of one text, lower case, single spaces between them."""

    def __init__(self, text: str) -> None:
        self.spans: list[Span] = []
        self.words: list[str] = []
        for match in _WORD.finditer(text):
            word = match.group().lower().replace("’", "'")
            self.spans.append(Span(*match.span()))
            self.words.append(_SPELLINGS.get(word, word))

    @cached_property
    def joined(self) -> str:
        """All words in a row."""
        return " ".join(self.words)

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for word in self.words:
            starts.append(at)
            at += len(word) + 1
        return starts

    def find_all(self, phrase: str) -> Iterator[Span]:
        """Each place of the original text where ``phrase`` stands (see ``compiled``)."""
        for match in compiled(phrase).finditer(self.joined):
            first = bisect_right(self._starts, match.start()) - 1
            last = bisect_right(self._starts, match.end() - 1) - 1
            yield Span(self.spans[first].start, self.spans[last].end)

    def find(self, phrase: str) -> Span | None:
        """The first place where ``phrase`` stands."""
        return next(self.find_all(phrase), None)


@lru_cache(maxsize=512)
def compiled(phrase: str) -> re.Pattern[str]:
    """Words in a row; ``(a|b)`` is either, ``..`` stands for up to 12 words and ``...`` for up to 60."""
    parts = []
    for part in phrase.split(" "):
        gap = {"..": _SHORT_GAP, "...": _LONG_GAP}.get(part)
        parts.append(f"(?: [^ ]+){{0,{gap}}}?" if gap else f" {part}")
    return re.compile(r"\b" + "".join(parts).removeprefix(" ") + r"\b")
