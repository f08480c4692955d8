"""What a document's clauses allow, ask and exclude: each finding with the clause that says so.

The rules know phrases of law, not licences. A clause that is gone, or says something else, yields nothing.
"""

from dataclasses import dataclass
from typing import Any, Literal

from jobdeck_backend.workflows.licences.clauses import Clause, Lines, clause_at, quote
from jobdeck_backend.workflows.licences.rules import RULES
from jobdeck_backend.workflows.licences.words import Span, Words

Group = Literal["permission", "condition", "limitation"]
PERMISSIVE = "permissive"
PUBLIC_DOMAIN = "public domain"


@dataclass(frozen=True)
class Obligation:
    """One permission, condition or limitation and where the document states it."""

    code: str
    group: Group
    text: str
    clause: int
    clause_name: str
    line: int
    offset: int
    length: int
    quote: str
    places: int
    """In how many places the document states it."""

    def plain(self) -> dict[str, Any]:
        """The obligation as JSON."""
        return dict(vars(self))


def find_obligations(text: str, words: Words, clauses: list[Clause]) -> list[Obligation]:
    """All obligations, permissions first, each citing the first clause that states it."""
    lines, found = Lines(text), list[Obligation]()
    for rule in RULES:
        spans = _distinct([span for phrase in rule.phrases for span in words.find_all(phrase)])
        if not spans:
            continue
        first = spans[0]
        clause = clause_at(clauses, first.start)
        within = Span(clause.start, max(clause.end, first.end)) if clause else first
        found.append(
            Obligation(
                code=rule.code,
                group=rule.group,
                text=rule.text,
                clause=clause.number if clause else 0,
                clause_name=clause.name if clause else "the document",
                line=lines.line(first.start),
                offset=first.start,
                length=first.end - first.start,
                quote=quote(text, first, within),
                places=len(spans),
            )
        )
    return found


def category(obligations: list[Obligation]) -> str:
    """How far the document's conditions reach: what a portfolio compares."""
    codes = {obligation.code for obligation in obligations}
    if codes & {"same-licence", "network-source"}:
        return "strong copyleft"
    if codes & {"same-licence-library", "same-licence-files", "allow-relinking"}:
        return "weak copyleft"
    if not any(obligation.group == "permission" for obligation in obligations):
        return "no permissions found"
    if any(obligation.group == "condition" for obligation in obligations):
        return PERMISSIVE
    return PUBLIC_DOMAIN


def _distinct(spans: list[Span]) -> list[Span]:
    """In order of position, those that overlap counted once."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept
