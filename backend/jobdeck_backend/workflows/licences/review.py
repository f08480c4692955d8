"""One document's facts in a row: what the graph's stages compute, callable without a graph."""

from dataclasses import dataclass
from typing import Any

from jobdeck_backend.workflows.licences.clauses import Clause, split_clauses
from jobdeck_backend.workflows.licences.identify import identify, mentioned
from jobdeck_backend.workflows.licences.obligations import Obligation, category, find_obligations
from jobdeck_backend.workflows.licences.wording import deviations
from jobdeck_backend.workflows.licences.words import Words

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Findings:
    """What a document turned out to be, all of it plain JSON."""

    licence: str
    confidence: float
    modified: bool
    category: str
    licences: list[dict[str, Any]]
    mentions: list[str]
    deviations: list[dict[str, Any]]
    obligations: list[dict[str, Any]]


def review_text(text: str, clauses: list[Clause] | None = None) -> Findings:
    """Identify the document's licences, how they were changed, and what its clauses oblige to."""
    words = Words(text)
    clauses = split_clauses(text) if clauses is None else clauses
    found = identify(text, words)
    departures = deviations([item.id for item in found], text, words)
    obligations = find_obligations(text, words, clauses)
    return Findings(
        licence=" AND ".join(item.id for item in found) or UNKNOWN,
        confidence=min((item.confidence for item in found), default=0.0),
        modified=any(item.kind != "beside" for item in departures)
        or any(item.confidence < 1 for item in found),
        category=category(obligations) if found else _least(obligations),
        licences=[item.plain() for item in found],
        mentions=[] if found else mentioned(words),
        deviations=[item.plain() for item in departures],
        obligations=[item.plain() for item in obligations],
    )


def _least(obligations: list[Obligation]) -> str:
    """What an unknown licence is at the least: there may be more in it than was found."""
    reach = category(obligations)
    return reach if reach.endswith("copyleft") else UNKNOWN
