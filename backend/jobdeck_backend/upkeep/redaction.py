"""What leaves the instance in a bundle: enough to find out what happened, without secrets and without content.

Content is what jobs were given and what they made: replaced by its size and hash, so that two of them can still be
told to be the same. Secrets are taken out of everything, also where content is wanted.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

_SECRET_NAME = re.compile(
    r"(?i)(secret|password|passwd|token$|_token|api[_-]?key|authorization|cookie|credential|private[_-]?key)"
)
# Each begins where a word does: tried at each of its hyphens, a text of hyphens would take hours.
_SECRETS = (
    re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"\b(?:sk|pk|ghp|gho|xox[abp]|AKIA)[-_]?[A-Za-z0-9_-]{12,}"),
    re.compile(
        r"(?<![A-Za-z0-9_-])(?:[A-Za-z0-9_-]{0,64}-)?eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    ),
    re.compile(
        r"(?i)(?<![\w-])([\w-]*(?:password|passwd|secret|token|api[_-]?key))[\"']?\s*[=:]\s*[\"']?[^\s\"',;&}]+"
    ),
    re.compile(r"(?<=://)[^/\s@:]+:[^/\s@]+(?=@)"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.S),
)
REDACTED = "[redacted]"
CONTENT = frozenset(
    {"input", "output", "content", "chunk", "text", "arguments", "request", "outcome", "data"}
)
"""Names of fields that hold what jobs were given or made, where they are not jobdeck's own words."""
ENVELOPE = "data"
"""What an event says in fields is told field by field; fields that callers or authors made are content whole."""


def without_secrets(value: Any) -> Any:
    """A JSON value with what looks like a secret taken out, by its name or by its shape."""
    match value:
        case str():
            for pattern in _SECRETS:
                value = pattern.sub(REDACTED, value)
            return value
        case Mapping():
            return {
                name: REDACTED if _SECRET_NAME.search(str(name)) and one else without_secrets(one)
                for name, one in value.items()
            }
        case list() | tuple():
            return [without_secrets(one) for one in value]
    return value


def measured(value: Any) -> Any:
    """Content by its size and hash."""
    if value is None:
        return None
    raw = (value if isinstance(value, str) else repr(value)).encode("utf-8", "replace")
    return {"private": True, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


def without_content(value: Any) -> Any:
    """A JSON value with every field of content measured."""
    match value:
        case Mapping():
            return {
                name: measured(one)
                if name in CONTENT and not (name == ENVELOPE and isinstance(one, Mapping))
                else without_content(one)
                for name, one in value.items()
            }
        case list() | tuple():
            return [without_content(one) for one in value]
    return value
