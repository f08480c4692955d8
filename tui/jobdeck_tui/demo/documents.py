"""Licence documents that are on this machine already: those of Debian, those of the installed packages."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

COUNT = 24
DEBIAN_LICENCES = Path("/usr/share/common-licenses")
NAMES = ("license", "licence", "copying", "notice")
BYTES_MIN, BYTES_MAX = 400, 200_000


@dataclass(frozen=True)
class Document:
    """A text to review and where it came from."""

    title: str
    text: str


def find_documents(count: int = COUNT) -> list[Document]:
    """Up to ``count`` documents with different texts, always the same ones on the same machine."""
    found: dict[bytes, Document] = {}
    for title, path in _candidates():
        if len(found) == count:
            break
        text = _read(path)
        if text is not None:
            found.setdefault(hashlib.sha256(" ".join(text.split()).encode()).digest(), Document(title, text))
    return list(found.values())


def _candidates() -> Iterator[tuple[str, Path]]:
    if DEBIAN_LICENCES.is_dir():
        for path in sorted(DEBIAN_LICENCES.iterdir()):
            if not path.is_symlink():
                yield path.name, path
    for distribution in sorted(distributions(), key=lambda one: one.name.lower()):
        for file in distribution.files or ():
            if file.name.lower().startswith(NAMES):
                yield distribution.name, Path(str(file.locate()))
                break  # one a package: variety says more than completeness


def _read(path: Path) -> str | None:
    try:
        if not BYTES_MIN <= path.stat().st_size <= BYTES_MAX:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
