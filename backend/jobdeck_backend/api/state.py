"""What a job's stored events add up to: the jobs API's ``/state``."""

from typing import Any

import orjson
from sqlalchemy import Connection

from jobdeck_backend.jobs.records import StoredEvent
from jobdeck_backend.store import events

PAGE = 5_000


def rebuild(tx: Connection, job_id: str) -> dict[str, Any] | None:
    """Fold all of a job's events; None when there are none that say anything."""
    fold = _Fold()
    cursor = 0
    while page := events.read_after(tx, job_id, cursor, PAGE):
        for event in page:
            fold.add(event)
        cursor = page[-1].seq
    return fold.artifacts() if fold.found else None


class _Fold:
    def __init__(self) -> None:
        self.found = False
        self._tools: dict[str, dict[str, Any]] = {}
        self._outputs: list[dict[str, Any]] = []
        self._found_urls: dict[str, None] = {}
        self._cited_urls: dict[str, None] = {}
        self._todos: list[Any] = []
        self._files: list[dict[str, Any]] = []

    def add(self, event: StoredEvent) -> None:
        if event.type not in {"tool.start", "tool.end", "artifact.update"}:
            return
        self.found = True
        payload = orjson.loads(event.payload)
        data = payload.get("data") or {}
        if event.type == "artifact.update":
            self._add_artifact(payload, data)
        else:
            self._add_tool(event.type, payload, data)

    def _add_tool(self, type: str, payload: dict[str, Any], data: dict[str, Any]) -> None:  # noqa: A002
        metadata = payload.get("metadata") or {}
        tool = self._tools.setdefault(
            payload["id"],
            {
                "id": payload["id"],
                "name": payload.get("name"),
                "input": None,
                "output": None,
                "status": "running",
                "workflow": metadata.get("workflow"),
                "is_sandbox": bool(metadata.get("sandbox", False)),
                "timestamp": payload.get("timestamp"),
            },
        )
        if type == "tool.start":
            tool["input"] = data.get("input")
        else:
            tool["output"] = data.get("output")
            tool["status"] = "error" if metadata.get("error") else "completed"

    def _add_artifact(self, payload: dict[str, Any], data: dict[str, Any]) -> None:
        workflow = (payload.get("metadata") or {}).get("workflow")
        entry = {
            **data,
            "name": payload.get("name"),
            "workflow": workflow,
            "timestamp": payload.get("timestamp"),
        }
        match data.get("type"):
            case "output":
                self._outputs.append(entry)
            case "citation_source":
                self._found_urls[str(data.get("url"))] = None
            case "citation_use":
                self._cited_urls[str(data.get("url"))] = None
            case "todo":
                self._todos = data.get("content") or []
            case "file":
                self._files.append(entry)

    def artifacts(self) -> dict[str, Any]:
        return {
            "tools": list(self._tools.values()),
            "outputs": self._outputs,
            "sources": {
                "found": len(self._found_urls),
                "cited": len(self._cited_urls),
                "found_urls": list(self._found_urls),
                "cited_urls": list(self._cited_urls),
            },
            "todos": self._todos,
            "files": self._files,
        }
