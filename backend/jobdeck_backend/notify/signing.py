"""The proof that a callback came from this server and was not altered on its way."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import structlog

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.instance import EXIT_NOT_WRITABLE
from jobdeck_backend.settings import Settings

log = structlog.get_logger(__name__)


def load_secret(settings: Settings) -> bytes:
    """The configured secret, or the state directory's own, which is made where there is none yet.

    Call it while holding the instance's lock. Raises ``StartRefused`` when the directory cannot be used.
    """
    if settings.callback_secret is not None and (configured := settings.callback_secret.get_secret_value()):
        return configured.encode()
    if settings.db_url is not None:
        log.warning(
            "callbacks are signed with this backend's own secret, and those of other backends on its database "
            "with theirs; JOBDECK_CALLBACK_SECRET, set to the same for all, makes it one"
        )
    path = settings.callback_secret_path
    try:
        return path.read_bytes().strip() if path.exists() else _make(path)
    except OSError as error:
        reason = f"the callback secret {path} cannot be read or written ({error.strerror})"
        raise StartRefused(reason, EXIT_NOT_WRITABLE) from None


def _make(path: Path) -> bytes:
    """A new secret, on disk under its name only when it is whole."""
    made = secrets.token_hex(32)
    draft = path.with_suffix(".new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{made}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    return made.encode()


def sign(secret: bytes, body: bytes, at: int) -> str:
    """``t=<at>,v1=<hmac-sha256 of "at.body">``, as X-Jobdeck-Signature has it; ``at`` is in Unix seconds."""
    digest = hmac.new(secret, b"%d.%s" % (at, body), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"
