"""The proof that a callback came from this server and was not altered on its way."""

import hashlib
import hmac

import structlog

from jobdeck_backend.kept_secret import kept_secret
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
    return kept_secret(settings.callback_secret_path)


def sign(secret: bytes, body: bytes, at: int) -> str:
    """``t=<at>,v1=<hmac-sha256 of "at.body">``, as X-Jobdeck-Signature has it; ``at`` is in Unix seconds."""
    digest = hmac.new(secret, b"%d.%s" % (at, body), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"
