"""The findings as Markdown. Text of the document or of a model never becomes markup."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote as quote_url

from jobdeck_backend.plural import plural

GROUPS = (
    ("permission", "What you may do"),
    ("condition", "What you must do"),
    ("limitation", "What is excluded"),
)

_HARMLESS = {ord(sign): other for sign, other in zip("|`<>[]", "¦'‹›()", strict=True)}


def review_report(
    document: Mapping[str, Any], clauses: Sequence[Any], findings: Mapping[str, Any], summary: str
) -> str:
    """One document's report."""
    words, rows = plural(document["words"], "word"), plural(document["lines"], "line")
    lines = [
        f"# Licence review: {inline(document['title'])}",
        "",
        f"**Licence:** {_licence(findings)}  ",
        f"**Kind:** {findings['category']}  ",
        f"**Document:** {words} in {rows}, {plural(len(clauses), 'clause')}  ",
        f"**sha256:** `{document['sha256']}`",
        "",
        "## Summary",
        "",
        prose(summary),
        "",
    ]
    for group, heading in GROUPS:
        obligations = [item for item in findings["obligations"] if item["group"] == group]
        lines += [f"## {heading}", "", *_obligations(obligations), ""]
    lines += ["## How it was recognised", "", *_evidence(findings), "", *_deviations(findings)]
    return "\n".join(lines).rstrip() + "\n"


def citation_url(title: str, place: Mapping[str, Any]) -> str:
    """The place in the document, as the text fragment of RFC 5147: characters from the beginning."""
    end = place["offset"] + place["length"]
    return f"document:{quote_url(title, safe='')}#char={place['offset']},{end}"


def inline(text: str) -> str:
    """Text of others on one line, harmless in a heading or a table cell."""
    return "".join(map(_shown, " ".join(text.split()).translate(_HARMLESS)))


def prose(text: str) -> str:
    """A model's text as paragraphs: it may repeat the document's markup, or make its own."""
    return "\n".join(inline(line).lstrip("#>¦›-*+=~ ") for line in text.splitlines())


def _shown(character: str) -> str:
    """Escape sequences and marks that turn the reading direction have no business in a report."""
    return character if character.isprintable() else "\ufffd"


def _licence(findings: Mapping[str, Any]) -> str:
    if not findings["licences"]:
        mentions = ", ".join(findings["mentions"])
        return "unknown" + (f" (the document only refers to {mentions})" if mentions else "")
    names = " and ".join(f"{item['name']} (`{item['id']}`)" for item in findings["licences"])
    changed = ", **modified**" if findings["modified"] else ""
    return f"{names}, confidence {findings['confidence']:.0%}{changed}"


def _obligations(obligations: Sequence[Mapping[str, Any]]) -> list[str]:
    if not obligations:
        return ["Nothing found."]
    rows = [f"| {item['text']} | {_place(item)} | `{inline(item['quote'])}` |" for item in obligations]
    return ["| what | where | words |", "|---|---|---|", *rows]


def _place(item: Mapping[str, Any]) -> str:
    more = f" (+{item['places'] - 1})" if item["places"] > 1 else ""
    return f"{item['clause_name']}, line {item['line']}{more}"


def _evidence(findings: Mapping[str, Any]) -> list[str]:
    if not findings["licences"]:
        return ["No licence jobdeck knows has enough of its phrases here."]
    return [
        f"- `{licence['id']}` {licence['confidence']:.0%}: "
        + "; ".join(f"line {item['line']} `{inline(item['words'])}`" for item in licence["evidence"])
        for licence in findings["licences"]
    ]


def _deviations(findings: Mapping[str, Any]) -> list[str]:
    if not findings["deviations"]:
        return []
    words = {"missing": "missing", "added": "added or altered", "beside": "beside the licence"}
    rows = [
        f"| {words[item['kind']]} | {item['line'] or '—'} | `{inline(item['text'])}` |"
        for item in findings["deviations"]
    ]
    return ["## Departures from the canonical wording", "", "| what | line | words |", "|---|---|---|", *rows]
