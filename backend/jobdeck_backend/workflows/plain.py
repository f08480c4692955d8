"""Any Python value as plain JSON: what events, hashes and results are made of.

Nothing is dropped and nothing can poison a store: what JSON does not know becomes its text, and text loses
what UTF-8 or a database cannot hold.
"""

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

_DEPTH_MAX = 40
_INTEGER_MAX = (1 << 63) - 1


def plain(value: Any, depth: int = 0) -> Any:
    """``value`` as dictionaries, lists, strings, numbers, booleans and None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -_INTEGER_MAX <= value <= _INTEGER_MAX:
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if depth < _DEPTH_MAX:
        if isinstance(value, Mapping):
            return {storable(words(key)): plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item, depth + 1) for item in value]
    return storable(words(value))


def words(value: Any) -> str:
    """A value's own text; of one that cannot be told, what it is."""
    try:
        return str(value)
    except Exception:  # whatever its author's code raises, and what is nested too deep
        return f"<{type(value).__name__}>"


def canonical(value: Any) -> str:
    """One and the same text for equal values, in ASCII."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """The sha256 of the canonical JSON, in hexadecimal."""
    return sha256(canonical(value).encode()).hexdigest()


def bounded(value: Any, characters_max: int) -> Any:
    """``value`` as plain JSON, or the beginning of its text when it is longer than ``characters_max``."""
    value = plain(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= characters_max:
        return value
    return f"{text[:characters_max]}… ({len(text):,} characters in all)"


def storable(text: str) -> str:
    """Without NUL and lone surrogates, which no database takes."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
