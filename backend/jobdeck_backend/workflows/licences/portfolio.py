"""Many reviews side by side: who asks what, and what does not go together. Pure work on reviews' data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

COMPARED_MAX = 1_000


def gather(predecessors: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry a predecessor: a review's facts, or that it gave none."""
    return [_entry(job_id, output) for job_id, output in list(predecessors.items())[:COMPARED_MAX]]


def compare(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts by kind and licence, conflicts between documents, and the documents that need a person."""
    reviewed = [entry for entry in entries if entry["reviewed"]]
    return {
        "kinds": dict(Counter(entry["category"] for entry in reviewed).most_common()),
        "licences": dict(Counter(entry["licence"] for entry in reviewed).most_common()),
        "conflicts": _conflicts(reviewed),
        "attention": [
            {"job_id": entry["job_id"], "title": entry["title"], "reasons": reasons}
            for entry in entries
            if (reasons := _reasons(entry))
        ],
    }


def _entry(job_id: str, output: Mapping[str, Any]) -> dict[str, Any]:
    data = output.get("data")
    if not isinstance(data, Mapping) or not {"title", "licence", "obligations"} <= data.keys():
        return {"job_id": job_id, "title": job_id, "reviewed": False}
    return {
        "job_id": job_id,
        "title": str(data["title"]),
        "reviewed": True,
        "licence": str(data["licence"]),
        "confidence": float(data.get("confidence", 0)),
        "modified": bool(data.get("modified")),
        "category": str(data.get("category", "unknown")),
        "mentions": list(data.get("mentions", [])),
        "clauses": int(data.get("clauses", 0)),
        "obligations": [item["code"] for item in data["obligations"]],
    }


def _reasons(entry: Mapping[str, Any]) -> list[str]:
    """Why a person should look at this document."""
    if not entry["reviewed"]:
        return ["the job gave no review"]
    reasons = []
    if entry["licence"] == "unknown":
        mentions = ", ".join(entry["mentions"])
        reasons.append(f"unknown licence, refers to {mentions}" if mentions else "unknown licence")
    if entry["category"] == "strong copyleft":
        reasons.append("strong copyleft")
    if entry["modified"]:
        reasons.append("the usual wording was changed")
    if entry["category"] == "no permissions found":
        reasons.append("no permission found")
    return reasons


def _conflicts(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Pairs of licences that ask what the other does not allow, derived from what their clauses say."""
    by_licence = {entry["licence"]: entry for entry in entries}
    found = []
    for one, other in combinations(by_licence.values(), 2):
        why = _why_not_together(one, other) or _why_not_together(other, one)
        if why:
            found.append({"licences": [one["licence"], other["licence"]], "why": why})
    return found


def _why_not_together(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """In one work: ``one`` wants the whole under its terms; what does ``other`` say to that?"""
    own, others = one["obligations"], other["obligations"]
    if "same-licence" not in own:
        return None
    if "same-licence" in others:
        return f"{one['licence']} and {other['licence']} each want the whole work under their own terms"
    if "no-further-restrictions" not in own:
        return None
    if "advertising" in others:
        return f"{one['licence']} allows no further restrictions, {other['licence']} demands advertising"
    retaliation = "patent-retaliation" in others and "secondary-licence" not in others
    if retaliation and "patent-retaliation" not in own:
        return f"{one['licence']} allows no further restrictions, {other['licence']} ends patent grants on a suit"
    return None
