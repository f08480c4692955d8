"""The document a review is asked to read: plain text, or a JSON object with its title."""

import json
from dataclasses import dataclass

from jobdeck_backend.workflows.plain import plain

TITLE_CHARACTERS_MAX = 120


@dataclass(frozen=True)
class Document:
    """A title for people and the text as it came, line ends made ``\\n``."""

    title: str
    text: str


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
    return _document(title, text)


def check_document(request: str) -> None:
    """Raise ``ValueError`` when there is no document to review."""
    parse_document(request)


def _document(title: str | None, text: str) -> Document:
    text = str(plain(text)).replace("\r\n", "\n").replace("\r", "\n")
    if not any(character.isalnum() for character in text):
        raise ValueError("the document has no words")
    first_line = next(line for line in text.splitlines() if any(map(str.isalnum, line)))
    name = " ".join(str(plain(title or "")).split()) or " ".join(first_line.split())
    return Document(name[:TITLE_CHARACTERS_MAX], text)
