"""The directory an execution leaves its files in, read as what a stranger filled: no link is followed, nothing
outside is opened, everything is bounded (R31).
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from jobdeck_backend.store.artifact_files import remove_tree

ENTRIES_MAX = 10_000
DEPTH_MAX = 16
_BENEATH = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UNUSABLE = {
    errno.ELOOP: "a link is not followed",
    errno.ENOTDIR: "a link is not followed, and a file is no directory",
    errno.EACCES: "it cannot be read",
    errno.ENAMETOOLONG: "its name is too long",
}


class FileRefused(Exception):  # noqa: N818
    """A file that is not kept; ``reason`` is told to the caller."""

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


class Sandbox:
    """One attempt's directory. It begins empty, and is made when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.made = False

    def make(self) -> None:
        """Make it, without anything an earlier life left there."""
        if not self.made:
            remove_tree(self.path)
            self.path.mkdir(parents=True, mode=0o700)
            self.made = True

    def remove(self) -> None:
        """Remove it and all that is in it."""
        if self.made:
            remove_tree(self.path)
            self.made = False

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the directory. Raises ``FileRefused`` when something else is in its place."""
        try:
            root = os.open(self.path, _BENEATH | os.O_DIRECTORY)
        except OSError as error:
            raise FileRefused(f"the directory is no more ({error.strerror})", ".") from None
        try:
            yield root
        finally:
            os.close(root)


@contextmanager
def open_beneath(root: int, path: str) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor and the status of a regular file below ``root`` that has no other name.

    Raises ``FileRefused``, ``FileNotFoundError``.
    """
    parts = PurePosixPath(path).parts
    if not parts or "\x00" in path or path.startswith("/") or ".." in parts:
        raise FileRefused("it is outside of the artifact directory")
    directory = os.dup(root)
    try:
        for part in parts[:-1]:
            directory = _step(directory, part)
        # First a look: opening a device or a pipe may have effects of its own.
        _must_be_plain(os.stat(parts[-1], dir_fd=directory, follow_symlinks=False))
        descriptor = os.open(parts[-1], _BENEATH, dir_fd=directory)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileRefused(_UNUSABLE.get(error.errno or 0, str(error.strerror))) from None
    finally:
        os.close(directory)
    try:
        status = os.fstat(descriptor)
        _must_be_plain(status)
        yield descriptor, status
    finally:
        os.close(descriptor)


def _step(directory: int, part: str) -> int:
    below = os.open(part, _BENEATH | os.O_DIRECTORY, dir_fd=directory)
    os.close(directory)
    return below


def _must_be_plain(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise FileRefused("a symbolic link is not followed")
    if stat.S_ISDIR(status.st_mode):
        raise FileRefused("it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused("it is a pipe, a socket or a device, not a file")
    if status.st_nlink != 1:
        raise FileRefused("it has another name (a hard link), or none any more")


def walk(root: int) -> Iterator[str | FileRefused]:
    """The paths of everything below ``root`` that is no directory, in order; refusals where it does not go on."""
    entries = 0
    for where, directories, names, descriptor in os.fwalk(".", dir_fd=root, follow_symlinks=False):
        below = PurePosixPath(where)
        directories.sort()
        for name in [*directories]:
            if _is_link(name, descriptor):
                directories.remove(name)
                yield FileRefused("a symbolic link is not followed", str(below / name))
        if len(below.parts) >= DEPTH_MAX and directories:
            directories.clear()
            yield FileRefused(f"only {DEPTH_MAX} directories deep is looked for files", str(below))
        for name in sorted(names):
            entries += 1
            if entries > ENTRIES_MAX:
                yield FileRefused(f"only the first {ENTRIES_MAX:,} files are looked at", str(below))
                return
            yield str(below / name)


def _is_link(name: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:  # removed just now
        return False
