"""One stored event in words: what the deck's logs and ``jobdeck watch`` show of it."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from jobdeck_tui.client.models import Event

TEXT_MAX = 2000
NOTICE_STYLES = {
    "recovered": "warn",
    "expired": "expired",
    "held": "held",
    "retry": "warn",
    "resumed": "good",
    "granted": "good",
}


class EventWords(NamedTuple):
    """A short label, one line of text, and the style that goes with them."""

    label: str
    text: str
    style: str = ""


def inner(event: Event, key: str) -> Mapping[str, object]:
    """The payload's object under ``key``, or an empty one."""
    value = event.payload.get(key)
    return value if isinstance(value, Mapping) else {}


def compact(value: object) -> str:
    """A value on one line: text as it is, ``k=v`` for objects, JSON for the rest."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:TEXT_MAX]
    if isinstance(value, Mapping):
        parts = [f"{k}={v if isinstance(v, str) else _json(v)}" for k, v in value.items()]
        return " ".join(parts)[:TEXT_MAX]
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:TEXT_MAX]


def chunk_text(event: Event) -> str | None:
    """The token text of an ``llm.chunk``; None for every other event."""
    return compact(inner(event, "data").get("chunk")) if event.type == "llm.chunk" else None


def describe(event: Event) -> EventWords:
    """The words for one event."""
    kind, _, edge = event.type.partition(".")
    data, metadata = inner(event, "data"), inner(event, "metadata")
    if event.type.startswith("workflow."):
        return _workflow(event, edge, data, metadata)
    if event.type == "job.update":
        name = event.name or "update"
        return EventWords(name, compact(data.get("output") or data), NOTICE_STYLES.get(name, "notice"))
    if event.type == "artifact.update":
        return _artifact(data)
    if event.type == "job.error":
        return EventWords("error", compact(data.get("error") or event.payload.get("error")), "failed")
    if event.type.startswith("job.cancel"):
        words = "cancel asked" if event.type.endswith("requested") else "cancelled"
        return EventWords(words, compact(data.get("reason")), "cancelled")
    if event.type == "job.heartbeat":
        return EventWords("heartbeat", f"up {compact(data.get('uptime_seconds'))} s", "faint")
    if kind == "llm":
        return _llm(event, edge, metadata)
    if kind == "tool":
        return _tool(event, edge, data, metadata)
    return EventWords(event.type, compact(data or event.payload), "")


def _workflow(
    event: Event, edge: str, data: Mapping[str, object], metadata: Mapping[str, object]
) -> EventWords:
    stage = metadata.get("stage")
    value = data.get("input") if edge == "start" else data.get("output")
    if isinstance(stage, Mapping):
        sign = "▸" if edge == "start" else "✔"
        where = f"{stage.get('node')} (step {stage.get('step')})"
        text = f"{where}  {compact(value)}" if value else where
        return EventWords(f"{sign} stage", text, "running" if edge == "start" else "succeeded")
    attempt = metadata.get("attempt")
    words = f"attempt {attempt}" if attempt else (event.name or "")
    text = f"{words}  {compact(value)}".strip()
    return EventWords("▸ started" if edge == "start" else "✔ finished", text, "strong")


def _artifact(data: Mapping[str, object]) -> EventWords:
    kind = str(data.get("type"))
    content = data.get("content")
    if kind == "output":
        category = str(data.get("output_category") or "output")
        lines = len(content.splitlines()) if isinstance(content, str) else 0
        text = f"{lines} lines" if category == "final_report" else compact(content)
        return EventWords(category.replace("_", " "), text, "good")
    if kind == "todo" and isinstance(content, list):
        done = sum(1 for item in content if isinstance(item, Mapping) and item.get("status") == "completed")
        now = next(
            (item.get("content") for item in content if isinstance(item, Mapping) and item.get("status") == "in_progress"),
            None,
        )
        return EventWords("todo", f"{done} of {len(content)} done" + (f", now: {now}" if now else ""), "faint")
    return EventWords(kind.replace("_", " "), compact(content or data.get("file_path")), "faint")


def _llm(event: Event, edge: str, metadata: Mapping[str, object]) -> EventWords:
    name = event.name or "model"
    if edge == "start":
        count = metadata.get("message_count") or metadata.get("prompt_count")
        return EventWords("llm", f"{name} asked, {count} messages" if count else f"{name} asked", "")
    if edge == "end":
        usage = metadata.get("usage")
        total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
        return EventWords("llm", f"{name} answered, {total} tokens" if total else f"{name} answered", "")
    return EventWords("llm", chunk_text(event) or "", "faint")


def _tool(
    event: Event, edge: str, data: Mapping[str, object], metadata: Mapping[str, object]
) -> EventWords:
    name = event.name or "tool"
    if error := metadata.get("error"):
        return EventWords("✖ tool", f"{name}  {compact(error)}", "failed")
    if edge == "start":
        return EventWords("tool", f"{name}  {compact(data.get('input'))}", "")
    return EventWords("tool", f"{name} → {compact(data.get('output'))}", "")
