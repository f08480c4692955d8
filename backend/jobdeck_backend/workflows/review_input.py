"""The document a review is asked to read: plain text, or a JSON object with its title and whom to tell."""

import json
from dataclasses import dataclass
from typing import Any

from jobdeck_backend.addresses import check_url
from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.workflows.plain import plain

TITLE_CHARACTERS_MAX = 120
REVIEW_STAGES = ("read", "extract_clauses", "identify_licence", "report")
NOTIFY_STAGE = "notify"


@dataclass(frozen=True)
class Document:
    """A title for people and the text as it came, line ends made ``\\n``."""

    title: str
    text: str
    notify_url: str | None = None
    """Whom to tell when the report is done."""


def parse_document(request: str) -> Document:
    """Read a review's input. Raises ``ValueError`` with a sentence for the caller."""
    value = None
    if request.lstrip().startswith("{"):
        try:
            value = json.loads(request)
        except (ValueError, RecursionError):
            value = None  # a text that begins with a brace
    if not isinstance(value, dict):
        return _document(None, request)
    title, text = value.get("title"), value.get("text")
    if not isinstance(text, str) or not text.strip():
        raise ValueError('the JSON object needs the document in "text"')
    if title is not None and not isinstance(title, str):
        raise ValueError('"title" must be text')
    return _document(title, text, _notify_url(value.get("notify_url")))


def check_document(request: str) -> None:
    """Raise ``ValueError`` when there is no document to review."""
    parse_document(request)


def review_stages(request: str) -> tuple[str, ...]:
    """The stages this input runs."""
    return REVIEW_STAGES if parse_document(request).notify_url is None else (*REVIEW_STAGES, NOTIFY_STAGE)


def _notify_url(url: Any) -> str | None:
    if url is None:
        return None
    if not isinstance(url, str):
        raise ValueError('"notify_url" must be text')
    try:
        # Where it leads is looked at when it is called.
        check_url(url, allow_private=True)
    except InvalidInput as error:
        raise ValueError(f'"notify_url": {error.message}') from None
    return url


def _document(title: str | None, text: str, notify_url: str | None = None) -> Document:
    text = str(plain(text)).replace("\r\n", "\n").replace("\r", "\n")
    if not any(character.isalnum() for character in text):
        raise ValueError("the document has no words")
    first_line = next(line for line in text.splitlines() if any(map(str.isalnum, line)))
    name = " ".join(str(plain(title or "")).split()) or " ".join(first_line.split())
    return Document(name[:TITLE_CHARACTERS_MAX], text, notify_url)
