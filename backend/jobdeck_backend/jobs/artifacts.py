"""Files that jobs leave behind: what is told of one, which types there are, what their bytes must look like."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from jobdeck_backend.jobs.ids import file_name, job_path

FILENAME_CHARS_MAX = 150
HEAD_BYTES = 1_024
"""So many of a file's first bytes show what it is."""
KINDS = frozenset({"image", "table", "dataset", "notebook", "document", "text", "archive", "other"})
SHOWN_INLINE = frozenset({"image/png", "image/jpeg", "image/webp"})
"""Media types that a browser may show in place; every other one is saved."""

_SIGNATURES = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("application/pdf", re.compile(rb"%PDF-")),
)
_MARKUP = (b"<!doctype", b"<html", b"<script", b"<svg", b"<?xml")


@dataclass(frozen=True, slots=True)
class FileType:
    """What an extension promises."""

    kind: str
    media_type: str
    is_text: bool = True
    """Whether every byte of it must be UTF-8."""
    begins: bytes = b""
    """Its first byte other than white space is one of these, where the type has such."""
    may_be_markup: bool = False


TYPES = {
    "png": FileType("image", "image/png", is_text=False),
    "jpg": FileType("image", "image/jpeg", is_text=False),
    "jpeg": FileType("image", "image/jpeg", is_text=False),
    "webp": FileType("image", "image/webp", is_text=False),
    "pdf": FileType("document", "application/pdf", is_text=False),
    "csv": FileType("table", "text/csv"),
    "json": FileType("dataset", "application/json", begins=b'{["-0123456789tfn'),
    "ipynb": FileType("notebook", "application/x-ipynb+json", begins=b"{"),
    "md": FileType("document", "text/markdown", may_be_markup=True),
    "txt": FileType("text", "text/plain"),
}
"""By extension; files with any other are refused."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file on record. The bytes are kept by ``sha256`` until ``removed_at``; the row stays (R6, R31)."""

    artifact_id: str
    job_id: str
    sha256: str
    filename: str
    file_path: str
    """Where the execution had it, below its directory."""
    kind: str
    media_type: str
    size_bytes: int
    title: str | None
    caption: str | None
    inline: bool
    attempt: int
    fence: int
    created_at: float
    removed_at: float | None = None

    @property
    def content_url(self) -> str:
        """The path under which the jobs API gives the bytes."""
        return f"{job_path(self.job_id)}/artifacts/{self.artifact_id}/content"


def sandbox_name(job_id: str, attempt: int) -> str:
    """The name of the directory in which an attempt leaves its files."""
    return f"{file_name(job_id)}-{attempt}"


def artifact_id(job_id: str, sha256: str) -> str:
    """The same bytes in the same job are one artifact, whoever finds them and however often."""
    return f"art_{hashlib.sha256(f'{job_id}/{sha256}'.encode()).hexdigest()[:32]}"


def type_of(path: str) -> FileType | None:
    """What a file's extension promises, None where such files are not kept."""
    return TYPES.get(PurePosixPath(path).suffix.lower().removeprefix("."))


def lie(head: bytes, promised: FileType) -> str | None:
    """How a file's first ``HEAD_BYTES`` break its extension's promise, None when they do not."""
    seen = next((name for name, sign in _SIGNATURES if sign.match(head)), None)
    if not promised.is_text:
        return None if seen == promised.media_type else f"its bytes are not {promised.media_type}"
    if seen is not None:
        return f"its bytes are {seen}, not {promised.media_type}"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not promised.may_be_markup and start.startswith(_MARKUP):
        return f"its bytes are HTML or XML, not {promised.media_type}"
    if promised.begins and start[:1] not in {bytes([one]) for one in promised.begins}:
        return f"its bytes are not {promised.media_type}"
    return None


def safe_filename(path: str) -> str:
    """The name under which a file is offered: one component, printable, bounded, its extension kept."""
    name = unicodedata.normalize("NFC", PurePosixPath(path).name)
    name = "".join(one if one.isprintable() and one not in '/\\:*?"<>|' else "_" for one in name)
    stem, _, suffix = name.strip(". ").rpartition(".")
    return f"{stem[: FILENAME_CHARS_MAX - len(suffix) - 1].strip('. ') or 'artifact'}.{suffix}"
