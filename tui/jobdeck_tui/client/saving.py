"""Files that come from a server: whole or not at all, their owner's alone, over no other without being told."""

import hashlib
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Self

ID_CHARACTERS = 100
"""Of an id in a file's name: no file system takes more than 255 bytes."""

_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_-]+")


class Saving:
    """A file being written beside its name; ``keep`` gives it that name. Used as a context manager."""

    def __init__(self, path: Path, *, over: bool = False) -> None:
        """Raises ``FileExistsError`` for a name that is taken, unless it may be written ``over``."""
        if path.exists() and not over:
            raise FileExistsError(path)
        self.path = path
        self.bytes = 0
        self._over = over
        self._part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._digest = hashlib.sha256()
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    @property
    def sha256(self) -> str:
        """Of what was written so far."""
        return self._digest.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._file.write(chunk)
        self._digest.update(chunk)
        self.bytes += len(chunk)

    def keep(self) -> None:
        """See it on the disk and give it its name. Raises ``FileExistsError`` where somebody took it meanwhile."""
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._over:
            self._part.replace(self.path)
        else:
            os.link(self._part, self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)


def bundle_name(job_id: str) -> str:
    """Give the name of a job's incident bundle; an id is a server's word, never a path."""
    return f"jobdeck-{_NOT_IN_AN_ID.sub('_', job_id)[:ID_CHARACTERS]}.tar.gz"


def free_name(path: Path) -> Path:
    """Give the path, or the first like it with a number that nothing has."""
    name, ends = path.name.partition(".")[0], "".join(path.suffixes[-2:])
    numbered = (path.with_name(f"{name}-{number}{ends}") for number in range(2, 1_000))
    return path if not path.exists() else next((one for one in numbered if not one.exists()), path)
