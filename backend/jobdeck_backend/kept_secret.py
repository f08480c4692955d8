"""Secrets that jobdeck makes itself: one a file, for its owner's eyes, made where there is none yet."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.instance import EXIT_NOT_WRITABLE

SECRET_BYTES_MIN = 32
"""What is shorter, others could guess."""


def kept_secret(path: Path) -> bytes:
    """The secret of a file, the same for all who ask at once. Raises ``StartRefused`` when it cannot be had."""
    try:
        if not path.exists():
            _make(path)
        secret, mode = path.read_bytes().strip(), path.stat().st_mode
    except OSError as error:
        reason = f"the secret {path} cannot be read or written ({error.strerror})"
        raise StartRefused(reason, EXIT_NOT_WRITABLE) from None
    if len(secret) < SECRET_BYTES_MIN:
        reason = (
            f"the secret {path} has fewer than {SECRET_BYTES_MIN} bytes; remove it, and another one is made"
        )
        raise StartRefused(reason, EXIT_NOT_WRITABLE)
    if mode & stat.S_IROTH:
        reason = (
            f"the secret {path} is one that everybody can read; 'chmod o-r' it, or remove it for another one"
        )
        raise StartRefused(reason, EXIT_NOT_WRITABLE)
    return secret


def _make(path: Path) -> None:
    """On disk under its name only when it is whole, and only where there is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{secrets.token_hex(32)}\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
