"""What tokens are verified with: jobdeck's own secret, or the public keys of an issuer."""

import json
import threading
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import jwt
import structlog

from jobdeck_backend.errors import StartRefused, TokenInvalid, Unavailable
from jobdeck_backend.kept_secret import kept_secret
from jobdeck_backend.settings import Settings

log = structlog.get_logger(__name__)

EXIT_IDENTITY = 15
FETCH_TIMEOUT_S = 5.0
# A key nobody knows may be a new one; whoever invents them makes the issuer be asked no oftener than so.
FETCH_PAUSE_S = 10.0
ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
PUBLIC_KINDS = frozenset({"RSA", "EC", "OKP"})
SECRET_BYTES_MIN = 32


class Keys(Protocol):
    """Gives the key that a token's header names."""

    algorithms: tuple[str, ...]

    def key(self, header: dict[str, Any]) -> Any:
        """Raises ``TokenInvalid`` where there is none, ``Unavailable`` where it cannot be known now."""


class OwnSecret:
    """One secret, with which ``jobdeck token`` signs."""

    algorithms: tuple[str, ...] = ("HS256",)

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def key(self, header: dict[str, Any]) -> Any:  # noqa: ARG002
        """The same for all."""
        return self.secret


class KeyFile:
    """A JSON Web Key Set on disk, read anew when it has changed."""

    algorithms: tuple[str, ...] = ASYMMETRIC

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at = 0.0
        self._keys: list[jwt.PyJWK] = []
        self._keys_now()

    def key(self, header: dict[str, Any]) -> Any:
        """The one named; the only one where none is named."""
        return named(self._keys_now(), header)

    def _keys_now(self) -> list[jwt.PyJWK]:
        """Those read last count until they can be read again. Raises ``StartRefused`` where none were."""
        try:
            changed_at = self._path.stat().st_mtime
            if changed_at != self._read_at:
                self._keys, self._read_at = public_keys(json.loads(self._path.read_bytes())), changed_at
        except (OSError, ValueError, jwt.PyJWTError) as error:
            if not self._keys:
                raise StartRefused(f"no keys can be read from {self._path}: {error}", EXIT_IDENTITY) from None
            log.warning("the issuer's keys cannot be read; those read before count", file=str(self._path))
        return self._keys


class KeyServer:
    """An issuer's JSON Web Key Set, fetched when a token names a key that is not known."""

    algorithms: tuple[str, ...] = ASYMMETRIC

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=FETCH_TIMEOUT_S)
        self._keys: list[jwt.PyJWK] = []
        self._fetched_at: float | None = None
        self._turn = threading.Lock()

    def key(self, header: dict[str, Any]) -> Any:
        """The one named; the only one where none is named. Fetches, so that it belongs on a thread."""
        with self._turn:
            try:
                return named(self._keys, header)
            except TokenInvalid:
                if not self._may_fetch():
                    raise
            self._fetch()
            return named(self._keys, header)

    def _may_fetch(self) -> bool:
        return self._fetched_at is None or monotonic() - self._fetched_at >= FETCH_PAUSE_S

    def _fetch(self) -> None:
        self._fetched_at = monotonic()
        try:
            self._keys = public_keys(self._client.fetch_data())
        except jwt.PyJWTError as error:
            log.warning("the issuer's keys cannot be fetched", cause=str(error))
            raise Unavailable(
                "the issuer's keys cannot be had just now; nothing was done",
                retry_after_s=round(FETCH_PAUSE_S),
            ) from None


def public_keys(key_set: Any) -> list[jwt.PyJWK]:
    """The keys of a set that only verify: one that also signs would let everybody who reads it sign."""
    if not isinstance(key_set, dict) or not isinstance(key_set.get("keys"), list):
        raise ValueError("it is no JSON Web Key Set")
    public = [one for one in key_set["keys"] if isinstance(one, dict) and one.get("kty") in PUBLIC_KINDS]
    if not public:
        raise ValueError("there is no public key in it")
    return jwt.PyJWKSet(public).keys


def named(keys: list[jwt.PyJWK], header: dict[str, Any]) -> jwt.PyJWK:
    """The key a token names; the only one where it names none. Raises ``TokenInvalid``."""
    name = header.get("kid")
    found = [one for one in keys if one.key_id == name] if name is not None else keys
    if len(found) != 1:
        raise TokenInvalid("the token names no key of its issuer; nothing was done")
    return found[0]


def own_secret(settings: Settings) -> bytes:
    """The configured secret, or the one kept in the state directory. Raises ``StartRefused``."""
    if settings.token_secret is None:
        return kept_secret(settings.token_secret_path)
    secret = settings.token_secret.get_secret_value().encode()
    if len(secret) < SECRET_BYTES_MIN:
        raise StartRefused(f"JOBDECK_TOKEN_SECRET has fewer than {SECRET_BYTES_MIN} bytes", EXIT_IDENTITY)
    return secret


def load_keys(settings: Settings) -> Keys:
    """What this server verifies with. Raises ``StartRefused``."""
    place = settings.auth_keys
    if place is None:
        return OwnSecret(own_secret(settings))
    return KeyServer(place) if "://" in place else KeyFile(Path(place))
