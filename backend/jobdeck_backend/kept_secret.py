"""Secrets that jobdeck makes itself: one a file, for its owner's eyes, made where there is none yet."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.instance import EXIT_NOT_WRITABLE


def kept_secret(path: Path) -> bytes:
    """The secret of a file, the same for all who ask at once. Raises ``StartRefused`` when it cannot be had."""
    try:
        if not path.exists():
            _make(path)
        return path.read_bytes().strip()
    except OSError as error:
        reason = f"the secret {path} cannot be read or written ({error.strerror})"
        raise StartRefused(reason, EXIT_NOT_WRITABLE) from None


def _make(path: Path) -> None:
    """On disk under its name only when it is whole, and only where there is none."""
    draft = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{secrets.token_hex(32)}\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
