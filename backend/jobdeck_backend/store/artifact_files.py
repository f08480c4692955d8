"""The bytes of artifacts, kept by their sha256: ``ab/cdef…`` below one root, each whole or not at all (R31).

Nothing here knows jobs. What no row refers to is removed once it is older than any write under way can be.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

CHUNK_BYTES = 1 << 20
_TEMPORARY = "tmp"


class ArtifactFiles:
    """One root directory; several processes may use it at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the directories. Raises ``OSError``."""
        (self.root / _TEMPORARY).mkdir(parents=True, exist_ok=True, mode=0o700)

    def path(self, sha256: str) -> Path:
        """Where the bytes with that digest are, or would be."""
        return self.root / sha256[:2] / sha256[2:]

    def store(self, chunks: Iterable[bytes]) -> str:
        """Write the bytes, sync them, give them their name, sync that; answers their sha256.

        What ``chunks`` raises is raised and leaves nothing behind. Bytes that are there already are replaced by
        their like, which makes the file young again. Raises ``OSError``.
        """
        self.prepare()
        temporary = self.root / _TEMPORARY / uuid4().hex
        digest = hashlib.sha256()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            try:
                for chunk in chunks:
                    digest.update(chunk)
                    _write_all(descriptor, chunk)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            final = self.path(digest.hexdigest())
            if not final.parent.is_dir():
                final.parent.mkdir(exist_ok=True, mode=0o700)
                _sync_directory(self.root)
            temporary.rename(final)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_directory(final.parent)
        return digest.hexdigest()

    def remove(self, sha256: str, *, older_than_s: float) -> bool:
        """Remove bytes that nothing refers to; False when they are too young to be sure of that, or gone."""
        path = self.path(sha256)
        try:
            if time.time() - path.stat().st_mtime < older_than_s:
                return False
            path.unlink()
        except FileNotFoundError:
            return False
        return True

    def remove_abandoned(self, *, older_than_s: float) -> None:
        """Remove what writers that died left unfinished."""
        for path in (self.root / _TEMPORARY).iterdir():
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime >= older_than_s:
                    path.unlink()

    def digests(self, *, older_than_s: float = 0.0) -> Iterator[str]:
        """The digests of all bytes kept, by the files' names."""
        latest = time.time() - older_than_s
        for directory in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for entry in os.scandir(directory):
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime <= latest:
                        yield directory.name + entry.name

    def fault(self, sha256: str, size_bytes: int) -> str | None:
        """What is wrong with the bytes of a row, None when they are as they were stored."""
        digest, read = hashlib.sha256(), 0
        try:
            with self.path(sha256).open("rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    digest.update(chunk)
                    read += len(chunk)
        except FileNotFoundError:
            return "are missing"
        except OSError as error:
            return f"cannot be read ({error.strerror})"
        return None if (digest.hexdigest(), read) == (sha256, size_bytes) else "were altered"


def remove_tree(path: Path) -> None:
    """Remove a directory with all in it, or whatever is in its place; what a link leads to is left alone."""
    with suppress(OSError):
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def _write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
