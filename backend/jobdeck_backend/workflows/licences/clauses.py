"""A document cut into its clauses: paragraphs and list items, under their headings, with their positions."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from jobdeck_backend.workflows.licences.words import Span

QUOTE_CHARACTERS_MAX = 280
_MARKER = re.compile(
    r"[ \t]*(?:[#;%>]+|//+|\*(?=[ \t]+\S))?[ \t]*"
    r"(?P<label>\(?(?:\d{1,2}(?:\.\d{1,2}){0,3}|[a-z]|[ivx]{2,4})[.)]|[-*•](?=[ \t]))(?=[ \t]+\S)"
)
_HEADING_WORDS_MAX = 10
_INLINE_HEADING = re.compile(r"\s*([A-Z][\w'-]*(?: [A-Za-z][\w'-]*){0,7})\.\s+\S")
_LIST_GOES_ON = re.compile(r"(?:[.;:,]|\b(?:and|or))$")
_SENTENCE_END = re.compile(r"[.;:][\"'”’)]*\s")


@dataclass(frozen=True)
class Clause:
    """One paragraph or list item. ``line`` counts from 1; offsets are characters of the document."""

    number: int
    label: str | None
    heading: str | None
    line: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """How a report calls it."""
        return f"section {self.label}" if self.label else f"clause {self.number}"

    def plain(self) -> dict[str, Any]:
        """The clause as JSON."""
        return asdict(self)


class Lines:
    """Offsets to line numbers."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        """The line, from 1, that holds this character."""
        return bisect_right(self._starts, offset)


def split_clauses(text: str) -> list[Clause]:
    """All clauses in order. A heading is no clause; it names those below it."""
    lines, clauses, outline = Lines(text), list[Clause](), _Outline()
    heading: str | None = None
    for marker, span in _blocks(text):
        body = text[span.start : span.end]
        label = outline.label(marker)
        if _is_heading(body):
            heading = _flat(body).rstrip(".")
            outline.headed(by=label)
            continue
        inline = _INLINE_HEADING.match(body) if label is not None and label == outline.section else None
        if inline:
            heading = inline.group(1)
            outline.headed(by=label)
        elif marker and label == outline.section:
            heading = None
        clauses.append(
            Clause(
                number=len(clauses) + 1,
                label=label,
                heading=heading,
                line=lines.line(span.start),
                start=span.start,
                end=span.end,
            )
        )
    return clauses


class _Outline:
    """Where a document's numbering stands: section, item, and whether the section has a heading of its own.

    Paragraphs without a number belong to a section only where a heading opened it: what follows the last item of
    a list is no part of that item.
    """

    def __init__(self) -> None:
        self.section: str | None = None
        self._item: str | None = None
        self._style: str | None = None
        self._headed = False

    def label(self, marker: str | None) -> str | None:
        """The full name, such as ``4(d)``, of the block that begins with this marker."""
        bare = (marker or "").strip("().-*•")
        if not bare or marker is None:
            return self.section if self._headed else None
        style = marker[-1]
        # "1." numbers sections; "1)" only where nothing else does.
        if bare[0].isdigit() and (style == "." or self._style in {None, style}):
            self.section, self._item, self._style, self._headed = bare, None, style, False
            return bare
        if bare[0].isdigit():
            return f"{self.section or ''}{f'({self._item})' if self._item else ''}({bare})"
        self._item = bare
        return f"{self.section or ''}({bare})"

    def headed(self, *, by: str | None) -> None:
        """A heading opened a section, a numbered one its own."""
        if by is None or by != self.section:
            self.section = None
        self._headed = self.section is not None


def clause_at(clauses: list[Clause], offset: int) -> Clause | None:
    """The clause that holds this character, else the last one before it."""
    index = bisect_right([clause.start for clause in clauses], offset) - 1
    return clauses[index] if index >= 0 else None


def quote(text: str, span: Span, within: Span) -> str:
    """The sentence around ``span``, on one line, not longer than ``QUOTE_CHARACTERS_MAX``."""
    before = [match.end() for match in _SENTENCE_END.finditer(text, within.start, span.start)]
    after = _SENTENCE_END.search(text, span.end, within.end)
    start = before[-1] if before else min(within.start, span.start)
    end = after.start() + 1 if after else max(within.end, span.end)
    whole = _flat(text[start:end])
    if len(whole) <= QUOTE_CHARACTERS_MAX:
        return whole
    found = _flat(text[span.start : span.end])
    return found if len(found) <= QUOTE_CHARACTERS_MAX else f"{found[: QUOTE_CHARACTERS_MAX - 1]}…"


def _blocks(text: str) -> Iterator[tuple[str | None, Span]]:
    """Runs of lines with (list marker, extent); a blank or ruled line or a list marker begins a new one."""
    marker: str | None = None
    start: int | None = None
    end = 0
    for line in re.finditer(r"[^\n]+", text):
        content = line.group()
        blank = not re.search(r"[^\W_]", content)
        apart = start is None or text[end : line.start()].count("\n") > 1
        found = None if blank else _MARKER.match(content)
        if found and not apart and not _LIST_GOES_ON.search(text, max(0, end - 5), end):
            found = None  # a number that only happens to begin a line of a sentence
        if start is not None and (blank or apart or found):
            yield marker, Span(start, end)
            start = None
        if blank:
            continue
        if start is None:
            marker = found["label"] if found else None
            begin = found.end() if found else 0
            start = line.start() + begin + len(content[begin:]) - len(content[begin:].lstrip())
        end = line.start() + len(content.rstrip())
    if start is not None:
        yield marker, Span(start, end)


def _is_heading(body: str) -> bool:
    """Few words, all the long ones capitalised, and no sentence."""
    words = re.findall(r"[^\W\d_][\w'-]*", body)
    if not 0 < len(words) <= _HEADING_WORDS_MAX or body.rstrip()[-1] in ",;:":
        return False
    if re.search(r"\.\s+\S|copyright|©", body, re.IGNORECASE):
        return False
    return all(word[0].isupper() for word in words if len(word) > 4)


def _flat(text: str) -> str:
    return " ".join(text.split())
