"""What a job's input text means to a user's graph, by the graph's input schema. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from jobdeck_backend.plural import plural

TEXT_FIELDS = (
    "input",
    "input_message",
    "query",
    "question",
    "text",
    "document",
    "topic",
    "prompt",
    "request",
)
"""Where a plain text goes, the first that the schema has, when several fields could take it."""
NAMES_SHOWN = 5
NAME_SHOWN_CHARS = 64
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def state_of(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The graph's first state: a JSON object's fields, or the text as a chat message or in its one text field.

    Raises ``ValueError`` with a sentence for the caller.
    """
    fields: Mapping[str, Any] = schema.get("properties", {})
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict) and (not fields or given.keys() & fields.keys()):
        _check(schema, fields, given)
        return given
    if "messages" in fields:
        return {"messages": [{"role": "user", "content": text}]}
    field = _text_field(schema, fields)
    if field is None:
        raise ValueError(f"this workflow takes a JSON object with {_listed(fields)}")
    state = {field: text}
    _check(schema, fields, state)
    return state


def _check(schema: Mapping[str, Any], fields: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    unknown = sorted(given.keys() - fields.keys()) if fields else []
    if unknown:
        raise ValueError(f"this workflow does not know {_first(unknown)}; it takes {_listed(fields)}")
    missing = [name for name in schema.get("required", ()) if name not in given]
    if missing:
        raise ValueError(f"this workflow needs {', '.join(missing)} as well; it takes {_listed(fields)}")
    for name, value in given.items():
        wanted = _TYPES.get(str(fields.get(name, {}).get("type")))
        if wanted is not None and (
            not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)
        ):
            raise ValueError(f"{name} is to be of type {fields[name]['type']}")


def _first(names: list[str]) -> str:
    named = ", ".join(name[:NAME_SHOWN_CHARS] for name in names[:NAMES_SHOWN])
    return f"{named} and {plural(len(names) - NAMES_SHOWN, 'other')}" if len(names) > NAMES_SHOWN else named


def _text_field(schema: Mapping[str, Any], fields: Mapping[str, Any]) -> str | None:
    texts = [name for name, one in fields.items() if _takes_text(one)]
    needed = [name for name in texts if name in schema.get("required", ())]
    if len(needed) == 1:
        return needed[0]
    return texts[0] if len(texts) == 1 else next((name for name in TEXT_FIELDS if name in texts), None)


def _takes_text(field: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "string" for one in (field, *field.get("anyOf", ())))


def _listed(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} ({one.get('type', 'any')})" for name, one in fields.items()) or "anything"
