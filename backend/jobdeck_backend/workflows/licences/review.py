"""One document's facts as plain JSON: what the tools answer, callable without a graph."""

from typing import Any

from jobdeck_backend.workflows.licences.clauses import split_clauses
from jobdeck_backend.workflows.licences.identify import identify, mentioned
from jobdeck_backend.workflows.licences.obligations import (
    PERMISSIVE,
    PUBLIC_DOMAIN,
    category,
    find_obligations,
)
from jobdeck_backend.workflows.licences.wording import deviations
from jobdeck_backend.workflows.licences.words import Words

UNKNOWN = "unknown"


def review_identity(text: str) -> dict[str, Any]:
    """Which licences the document holds, how sure that is, and how it departs from their wording.

    Text that only stands beside a licence is listed, but does not make it a modified one.
    """
    words = Words(text)
    found = identify(text, words)
    departures = deviations([item.id for item in found], text, words)
    return {
        "licence": " AND ".join(item.id for item in found) or UNKNOWN,
        "confidence": min((item.confidence for item in found), default=0.0),
        "modified": any(item.kind != "beside" for item in departures)
        or any(item.confidence < 1 for item in found),
        "licences": [item.plain() for item in found],
        "mentions": [] if found else mentioned(words),
        "deviations": [item.plain() for item in departures],
    }


def review_obligations(text: str) -> dict[str, Any]:
    """What the document allows, asks and excludes, each with its place, and how far that reaches."""
    obligations = find_obligations(text, Words(text), split_clauses(text))
    return {
        "obligations": [item.plain() for item in obligations],
        "category": category(obligations),
    }


def joined(identity: dict[str, Any], obligations: dict[str, Any]) -> dict[str, Any]:
    """All findings. Of an unknown licence only the worst is told: there may be more in it than was found.

    For the same reason only part of a known licence's text is never called public domain.
    """
    findings = {**identity, **obligations}
    if findings["licence"] == UNKNOWN and not findings["category"].endswith("copyleft"):
        findings["category"] = UNKNOWN
    elif findings["category"] == PUBLIC_DOMAIN and findings["confidence"] < 1:
        findings["category"] = PERMISSIVE
    return findings
