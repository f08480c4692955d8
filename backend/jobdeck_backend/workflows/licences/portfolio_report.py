"""The portfolio as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobdeck_backend.workflows.licences.report import inline, prose
from jobdeck_backend.workflows.licences.rules import RULES

MATRIX_COLUMNS_MAX = 8
TITLE_CHARACTERS_MAX = 120


def portfolio_report(
    title: str, entries: Sequence[Mapping[str, Any]], comparison: Mapping[str, Any], summary: str
) -> str:
    """All documents in one report."""
    heading = inline(title)[:TITLE_CHARACTERS_MAX] or "Portfolio"
    lines = [f"# {heading}", "", "## Summary", "", prose(summary), "", *_counts(entries, comparison), ""]
    lines += ["## Needs attention", "", *_attention(comparison), "", *_conflicts(comparison)]
    lines += ["## Documents", "", *_documents(entries), "", "## Obligations by licence", ""]
    lines += _matrices([entry for entry in entries if entry["reviewed"]])
    return "\n".join(lines).rstrip() + "\n"


def _counts(entries: Sequence[Any], comparison: Mapping[str, Any]) -> list[str]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in comparison["kinds"].items())
    licences = ", ".join(f"{count} × {inline(name)}" for name, count in comparison["licences"].items())
    return [
        f"**Documents:** {len(entries)}  ",
        f"**Kinds:** {kinds or 'none'}  ",
        f"**Licences:** {licences or 'none'}",
    ]


def _attention(comparison: Mapping[str, Any]) -> list[str]:
    return [
        f"- {inline(item['title'])}: {'; '.join(map(inline, item['reasons']))}"
        for item in comparison["attention"]
    ] or ["No document."]


def _conflicts(comparison: Mapping[str, Any]) -> list[str]:
    if not comparison["conflicts"]:
        return []
    return ["## Not in one work", "", *(f"- {inline(item['why'])}" for item in comparison["conflicts"]), ""]


def _documents(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = ["| document | licence | kind | confidence | clauses | job |", "|---|---|---|---|---|---|"]
    for entry in entries:
        facts = [entry["job_id"]]
        if entry["reviewed"]:
            licence = inline(entry["licence"]) + (", modified" if entry["modified"] else "")
            confidence = f"{entry['confidence']:.0%}" if entry["confidence"] else "—"
            facts = [licence, inline(entry["category"]), confidence, str(entry["clauses"]), *facts]
        else:
            facts = ["no review", "", "", "", *facts]
        rows.append(f"| {inline(entry['title'])} | {' | '.join(facts)} |")
    return rows


def _matrices(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Obligations down, licences across: ● all documents of the licence state it, ◐ some do."""
    licences = list(dict.fromkeys(entry["licence"] for entry in entries))
    stated = {code for entry in entries for code in entry["obligations"]}
    ordered = [(rule.code, rule.text) for rule in RULES if rule.code in stated]
    lines: list[str] = []
    for first in range(0, len(licences), MATRIX_COLUMNS_MAX):
        columns = licences[first : first + MATRIX_COLUMNS_MAX]
        lines += [f"| | {' | '.join(map(inline, columns))} |", f"|---|{'---|' * len(columns)}"]
        for code, text in ordered:
            cells = [
                _cell(code, [entry for entry in entries if entry["licence"] == licence])
                for licence in columns
            ]
            lines.append(f"| {text} | {' | '.join(cells)} |")
        lines.append("")
    return lines or ["Nothing to compare."]


def _cell(code: str, entries: Sequence[Mapping[str, Any]]) -> str:
    stating = sum(code in entry["obligations"] for entry in entries)
    return "●" if stating == len(entries) else "◐" if stating else ""
