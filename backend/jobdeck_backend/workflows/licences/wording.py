"""Where a document departs from a licence's canonical wording, sentence by sentence.

``wording.json`` keeps of each licence only a fingerprint and the first words of every sentence: enough to say
which are missing and which were added or altered. Names of holders, years and layout do not count.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jobdeck_backend.workflows.licences.clauses import QUOTE_CHARACTERS_MAX, Lines
from jobdeck_backend.workflows.licences.words import Span, Words

DEVIATIONS_MAX = 20
_SENTENCE_WORDS_MIN = 5
_BEGINNING_WORDS = 8
_BOUNDARY = re.compile(r"[.;:!?][\"'”’)\]]*\s|\n[^\w\n]*\n|\n[^\w\n]*(?:\(?(?:\d{1,2}|[a-z])[.)]|[-*•])[ \t]")
_CLOSING = re.compile(r"[.;:!?\"'”’)\]]+")
# Of holders' names: their full stop ends no sentence.
_ABBREVIATIONS = frozenset({"co", "corp", "gmbh", "inc", "ltd", "llc", "al", "g", "e"})
_FREE = (
    (re.compile(r"\bprovided by .{1,160}? as is\b"), "provided by holder as is"),
    (re.compile(r"\bin no event shall .{1,160}? be liable\b"), "in no event shall holder be liable"),
    (
        re.compile(r"\b(neither the names? of|the names? of) .{1,200}? (may not|may) be used\b"),
        r"\1 holder \2 be used",
    ),
    (re.compile(r"^(?:\d{1,2}|[a-z]) "), ""),
)
_NOT_WORDING = re.compile(
    r"^(copyright|portions copyright|all rights reserved|the above copyright holder)\b|\b(19|20)\d\d\b"
)


@dataclass(frozen=True)
class Sentence:
    """A run of words of the document, folded for comparison."""

    folded: str
    span: Span

    @property
    def fingerprint(self) -> str:
        """What is compared."""
        return fingerprint(self.folded)


@dataclass(frozen=True)
class Deviation:
    """A departure: a canonical sentence is ``missing``, another was ``added`` within, or is ``beside`` it."""

    kind: str
    text: str
    line: int | None

    def plain(self) -> dict[str, Any]:
        """The deviation as JSON."""
        return asdict(self)


def fingerprint(folded: str) -> str:
    """Of one folded sentence."""
    return sha256(folded.encode()).hexdigest()[:10]


def sentences(text: str, words: Words) -> Iterator[Sentence]:
    """The sentences that are wording: no headings, years or names of holders."""
    first = 0
    cuts = [
        index
        for index in range(1, len(words.spans))
        if words.words[index - 1] not in _ABBREVIATIONS
        and _parts(text, words.spans[index - 1], words.spans[index])
    ]
    for last in [*cuts, len(words.spans)]:
        folded = " ".join(words.words[first:last])
        for pattern, free in _FREE:
            folded = pattern.sub(free, folded)
        if folded.count(" ") >= _SENTENCE_WORDS_MIN - 1 and not _NOT_WORDING.search(folded):
            yield Sentence(folded, Span(words.spans[first].start, words.spans[last - 1].end))
        first = last


def deviations(licence_ids: list[str], text: str, words: Words) -> list[Deviation]:
    """How the document departs from those of these licences whose wording is on record."""
    canons = [list(_canon()[id_].items()) for id_ in licence_ids if id_ in _canon()]
    if not canons:
        return []
    lines, own = Lines(text), list(sentences(text, words))
    prints = [sentence.fingerprint for sentence in own]
    there = set(prints)
    missing = [
        Deviation("missing", f"{beginning} …", None)
        for canon in canons
        for print_, (beginning, optional) in canon
        if print_ not in there and not optional
    ]
    canonical = {print_ for canon in canons for print_, _ in canon}
    inside = {index for canon in canons for index in _inside([print_ for print_, _ in canon], prints)}
    others = [
        Deviation(
            "added" if index in inside else "beside",
            _shown(text, sentence.span),
            lines.line(sentence.span.start),
        )
        for index, sentence in enumerate(own)
        if sentence.fingerprint not in canonical
    ]
    others.sort(key=lambda deviation: deviation.kind)
    return [*missing, *others][:DEVIATIONS_MAX]


def _inside(canon: list[str], prints: list[str]) -> set[int]:
    """Indexes of sentences between two of this licence that follow each other in its order.

    Where the order begins again, one copy of the licence has ended and another begins: what is between them
    is beside both.
    """
    order = {print_: index for index, print_ in enumerate(canon)}
    inside: set[int] = set()
    before: tuple[int, int] | None = None
    for at, print_ in enumerate(prints):
        if print_ not in order:
            continue
        if before is not None and order[print_] > before[1]:
            inside.update(range(before[0] + 1, at))
        before = (at, order[print_])
    return inside


@cache
def _canon() -> dict[str, dict[str, tuple[str, bool]]]:
    """Licence → fingerprint → (first words, whether copies usually leave it out)."""
    loaded = json.loads((Path(__file__).parent / "wording.json").read_text("utf-8"))
    return {
        id_: {print_: (beginning, bool(optional)) for print_, beginning, optional in entries}
        for id_, entries in loaded.items()
    }


def entries(text: str, *, optional_after: str | None = None) -> list[tuple[str, str, int]]:
    """What ``wording.json`` keeps of one canonical text."""
    words = Words(text)
    cut = words.find(optional_after) if optional_after else None
    return [
        (
            sentence.fingerprint,
            " ".join(sentence.folded.split(" ")[:_BEGINNING_WORDS]),
            int(cut is not None and sentence.span.start >= cut.start),
        )
        for sentence in sentences(text, words)
    ]


def _parts(text: str, before: Span, after: Span) -> bool:
    between = text[before.end : after.start + 1]
    return len(between) > 2 and _BOUNDARY.search(between) is not None


def _shown(text: str, span: Span) -> str:
    after = _CLOSING.match(text, span.end)
    shown = " ".join(text[span.start : after.end() if after else span.end].split())
    return shown if len(shown) <= QUOTE_CHARACTERS_MAX else f"{shown[: QUOTE_CHARACTERS_MAX - 1]}…"
