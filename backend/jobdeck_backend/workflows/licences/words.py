"""A document as its bare words, each knowing where it stands.

Licences are quoted with other line breaks, quotation marks, bullets and comment signs; their words stay.
Patterns are matched on the words and answered in positions of the original text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SPELLINGS = {"licence": "license", "licences": "licenses", "sublicence": "sublicense"}
_SHORT_GAP, _LONG_GAP = 12, 60
_NOT_PLAIN = re.compile(r"\([^)]*\)|.\?|[^\w' ]+")


class Span(NamedTuple):
    """Where something stands in the document: character offsets, the end not included."""

    start: int
    end: int


class Words:
    """The words of one text, lower case, single spaces between them."""

    def __init__(self, text: str) -> None:
        self.spans = [Span._make(match.span()) for match in _WORD.finditer(text)]
        plain = " ".join(_WORD.findall(text)).lower().replace("’", "'")
        self.words = [_SPELLINGS.get(word, word) for word in plain.split()]

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
        pattern, plain = compiled(phrase)
        if plain not in self.joined:  # most phrases are in no document, and this is seen much sooner
            return
        for match in pattern.finditer(self.joined):
            first = bisect_right(self._starts, match.start()) - 1
            last = bisect_right(self._starts, match.end() - 1) - 1
            yield Span(self.spans[first].start, self.spans[last].end)

    def find(self, phrase: str) -> Span | None:
        """The first place where ``phrase`` stands."""
        return next(self.find_all(phrase), None)


@lru_cache(maxsize=512)
def compiled(phrase: str) -> tuple[re.Pattern[str], str]:
    """Words in a row; ``(a|b)`` is either, ``..`` stands for up to 12 words and ``...`` for up to 60.

    The pattern, and the longest part of it that stands as it is wherever it matches.
    """
    parts = []
    for part in phrase.split(" "):
        gap = {"..": _SHORT_GAP, "...": _LONG_GAP}.get(part)
        parts.append(f"(?: [^ ]+){{0,{gap}}}?" if gap else f" {part}")
    pattern = re.compile(r"\b" + "".join(parts).removeprefix(" ") + r"\b")
    return pattern, max(_NOT_PLAIN.split(phrase), key=len).strip()
