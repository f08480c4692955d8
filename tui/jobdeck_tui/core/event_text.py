"""Stored events as one line each, and the tokens of a model call folded into lines of text."""

import json

from jobdeck_tui.client.models import Event
from jobdeck_tui.text.format import clock, plural, size
from jobdeck_tui.text.sanitise import one_line

BODY_CHARACTERS = 300
NOTICES = {
    "submitted": "accepted",
    "recovered": "after a loss",
    "resumed": "by an operator",
    "granted": "a later deadline",
    "expired": "its deadline passed",
    "held": "needs a person",
}


def data(event: Event) -> dict[str, object]:
    """Give the event's own data; empty where it has none."""
    return _object(event.payload.get("data"))


def stage_of(event: Event) -> tuple[str, int] | None:
    """Give the stage (node, step) that a workflow event is about; None for the whole job."""
    stage = _object(_object(event.payload.get("metadata")).get("stage"))
    node, step = stage.get("node"), stage.get("step")
    return (node, step) if isinstance(node, str) and isinstance(step, int) else None


def chunk_of(event: Event) -> str:
    """Give the text a model just said; empty for any other event."""
    chunk = data(event).get("chunk") if event.type == "llm.chunk" else None
    return chunk if isinstance(chunk, str) else ""


def head(event: Event) -> str:
    """Give the event's kind as the log shows it; a stage is told from the whole job."""
    if event.type.startswith("workflow.") and stage_of(event):
        return "stage" + event.type.removeprefix("workflow")
    return event.type


def body(event: Event) -> str:
    """Give what the event says, in one bounded line."""
    return one_line(_say(event), BODY_CHARACTERS)


def line(event: Event) -> str:
    """Give time, kind and content: ``12:04:29 tool.start   web_search  {"q": …}``."""
    return f"{clock(event.at)} {head(event):<15} {body(event)}".rstrip()


def _say(event: Event) -> str:
    payload, own, name = event.payload, data(event), event.name or ""
    match event.type:
        case "job.update":
            said = _short(own.get("output", own.get("reason", "")))
            return _join(name, said or NOTICES.get(name, ""))
        case "workflow.start" | "workflow.end":
            stage = stage_of(event)
            said = _short(own.get("output" if event.type.endswith("end") else "input"))
            if stage is None:
                return _join(name, said)
            # A stage's input is the whole state, of which the line before told what is new.
            return _join(f"{stage[0]} (step {stage[1]})", said if event.type.endswith("end") else "")
        case "llm.start":
            count = _object(payload.get("metadata")).get("message_count")
            return _join(name, plural(count, "message") if isinstance(count, int) else "")
        case "llm.chunk":
            return chunk_of(event)
        case "llm.end":
            usage = _object(_object(payload.get("metadata")).get("usage"))
            tokens = usage.get("output_tokens")
            return _join(name, plural(tokens, "token") if isinstance(tokens, int) else "")
        case "tool.start" | "tool.end":
            error = _object(payload.get("metadata")).get("error")
            result = own.get("input" if event.type.endswith("start") else "output")
            return _join(name, f"failed: {_short(error)}" if error else _short(result))
        case "artifact.update":
            return _artifact(own)
        case "artifact.warning":
            return _join("not kept", _short(own.get("path")), _short(own.get("reason")))
        case _:
            rest = own.get("reason") or own.get("error") or own
            return _join(name, _short(rest) if rest else "")


def _artifact(own: dict[str, object]) -> str:
    if own.get("type") == "todo":
        return _todo(own.get("content"))
    if "artifact_id" in own:
        held = own.get("size_bytes")
        room = size(held) if isinstance(held, int) else ""
        return _join("file", _short(own.get("file_path")), room, _short(own.get("title")))
    kind = own.get("output_category") or own.get("type") or ""
    return _join(_short(kind), _short(own.get("url") or own.get("file_path") or own.get("content")))


def _todo(content: object) -> str:
    items = [_object(item) for item in content] if isinstance(content, list) else []
    done = sum(1 for item in items if item.get("status") == "completed")
    now = next((_short(item.get("content")) for item in items if item.get("status") == "in_progress"), "")
    return _join(f"todo {done} of {len(items)} done", now)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _short(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text[: 4 * BODY_CHARACTERS].split())


def _join(*parts: str) -> str:
    return "  ".join(part for part in parts if part)


class ChunkFolder:
    """Collects a model's tokens and gives them back as whole lines, at most ``width`` characters each."""

    def __init__(self, width: int = BODY_CHARACTERS) -> None:
        self._width = width
        self._held = ""
        self.chunks = 0

    def add(self, text: str) -> list[str]:
        """Take a token in; give the lines it completed."""
        self.chunks += 1
        *lines, self._held = (self._held + text).split("\n")
        while len(self._held) > self._width:
            cut = self._held.rfind(" ", 1, self._width)
            cut = cut if cut > 0 else self._width
            lines.append(self._held[:cut])
            self._held = self._held[cut:].lstrip(" ")
        return [one_line(said, 10 * self._width) for said in lines if said.strip()]

    def flush(self) -> list[str]:
        """Give what is left as the last line."""
        held, self._held = self._held, ""
        self.chunks = 0
        return [one_line(held)] if held.strip() else []
