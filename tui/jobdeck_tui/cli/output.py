"""Plain text and JSON on standard output. JSON is pure ASCII, so that nothing in it acts on a terminal."""

import json
import sys

from .exits import Exit, exit_code


def print_line(text: str) -> None:
    """Write a line that is safe already, and let a pipe see it at once. Raises ``Exit`` once nobody reads it."""
    try:
        sys.stdout.write(_encodable(text) + "\n")
        sys.stdout.flush()
    except BrokenPipeError as error:  # click would end with 1
        raise Exit(exit_code(error)) from None


def print_json(data: object, *, indent: int | None = 2) -> None:
    """Write a value as JSON; without ``indent`` as one line."""
    text = json.dumps(data, ensure_ascii=True, indent=indent, default=str)
    print_line(text.replace("\x7f", "\\u007f"))


def _encodable(text: str) -> str:
    """Replace what standard output's encoding does not have: a C locale must not end the program."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
