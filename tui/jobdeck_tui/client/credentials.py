"""Who this program says it is: a bearer token, from a profile's file or the environment, read anew each time."""

import os
from pathlib import Path

from .errors import Denied

VARIABLE = "JOBDECK_TOKEN"
TOKEN_CHARACTERS_MAX = 16_384
_files: dict[str, Path] = {}


def keep_in(url: str | None, file: str) -> None:
    """Say which file, if any, holds the token for one server; it is sent to no other."""
    if url and file:
        _files[url] = Path(file)


def token_for(url: str) -> str:
    """Give the token for a server, empty where there is none.

    Raises:
        Denied: the file cannot be read, or what it holds is no token.
    """
    file = _files.get(url)
    token = os.environ.get(VARIABLE, "").strip() if file is None else _read(file)
    if not (token.isascii() and (token.isprintable() or not token)):
        raise Denied("The token has characters that none has: nothing was sent.", 401)
    return token


def _read(file: Path) -> str:
    try:
        with file.expanduser().open() as opened:
            return opened.read(TOKEN_CHARACTERS_MAX).strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise Denied(f"The token file {file} cannot be read ({why}): nothing was sent.", 401) from None
