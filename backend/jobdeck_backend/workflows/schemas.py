"""The JSON schemas of a user's graph: what it takes, what it gives."""

from collections.abc import Callable
from typing import Any, get_type_hints

from langgraph.pregel import Pregel
from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

MESSAGES = {"type": "array", "items": {"type": "object"}, "description": "chat messages"}
_KEPT = ("type", "title", "description", "default")


def input_schema(graph: Pregel[Any, Any, Any, Any]) -> dict[str, Any]:
    """What a job of this graph takes."""
    builder = getattr(graph, "builder", None)
    return _schema(getattr(builder, "input_schema", None), graph.get_input_jsonschema)


def output_schema(graph: Pregel[Any, Any, Any, Any]) -> dict[str, Any]:
    """What its final state amounts to."""
    builder = getattr(graph, "builder", None)
    return _schema(getattr(builder, "output_schema", None), graph.get_output_jsonschema)


def _schema(declared: Any, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Field by field for a ``TypedDict``: pydantic refuses a whole one that is ``typing``'s before Python 3.12."""
    if hasattr(declared, "__required_keys__"):  # of ``typing``, or as LangGraph's of ``typing_extensions``
        hints = get_type_hints(declared, include_extras=True)
        fields = {name: _field(name, hint) for name, hint in hints.items()}
        return {"type": "object", "properties": fields, "required": sorted(declared.__required_keys__)}
    try:
        schema = ask()
    except (PydanticUserError, TypeError):
        return {"type": "object"}
    if "messages" in schema.get("properties", {}):
        schema["properties"]["messages"] = MESSAGES
        if "$ref" not in str(schema["properties"]):
            schema.pop("$defs", None)
    return schema


def _field(name: str, hint: Any) -> dict[str, Any]:
    if name == "messages":
        return MESSAGES  # not the pages that describe every kind of message
    try:
        schema = TypeAdapter(hint).json_schema()
    except (PydanticUserError, TypeError, NameError):
        return {}
    return schema if "$defs" not in schema else {key: schema[key] for key in _KEPT if key in schema}
