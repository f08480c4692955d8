"""Which licences a document is, from its own words."""

from dataclasses import asdict, dataclass
from typing import Any

from jobdeck_backend.workflows.licences.clauses import Lines
from jobdeck_backend.workflows.licences.families import FAMILIES, MENTIONS, Family
from jobdeck_backend.workflows.licences.words import Span, Words

CONFIDENCE_MIN = 0.6


@dataclass(frozen=True)
class Evidence:
    """Words of the document that are the licence's, and where they stand."""

    words: str
    line: int
    offset: int


@dataclass(frozen=True)
class Identified:
    """One licence found. ``confidence``: the share, 0 to 1, of its phrases (by weight) that are there."""

    id: str
    name: str
    confidence: float
    evidence: tuple[Evidence, ...]

    def plain(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {**asdict(self), "evidence": [asdict(item) for item in self.evidence]}


def identify(text: str, words: Words) -> list[Identified]:
    """Every licence the document holds, surest first."""
    lines = Lines(text)
    found = [identified for family in FAMILIES if (identified := _match(family, text, words, lines))]
    ids = {identified.id for identified in found}
    replaced = {id_ for family in FAMILIES if family.id in ids for id_ in family.replaces}
    return sorted((item for item in found if item.id not in replaced), key=lambda item: -item.confidence)


def mentioned(words: Words) -> list[str]:
    """Licences that the document only speaks of."""
    return [id_ for id_, names in MENTIONS if any(words.find(name) for name in names.split("|"))]


def _match(family: Family, text: str, words: Words, lines: Lines) -> Identified | None:
    if family.requires and words.find(family.requires) is None:
        return None
    spans: list[tuple[int, Span]] = []
    for weight, phrase in family.phrases:
        span = words.find(phrase)
        if span is not None:
            spans.append((weight, span))
    score = sum(weight for weight, _ in spans) / sum(weight for weight, _ in family.phrases)
    if score < CONFIDENCE_MIN:
        return None
    evidence = tuple(
        Evidence(" ".join(text[span.start : span.end].split()), lines.line(span.start), span.start)
        for _, span in spans
    )
    return Identified(family.id, family.name, round(score, 3), evidence)
