"""What tokens are verified with: jobdeck's own secret, or the public keys of an issuer."""

import asyncio
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import httpx
import jwt
import orjson
import structlog

from jobdeck_backend.errors import StartRefused, TokenInvalid, Unavailable
from jobdeck_backend.kept_secret import SECRET_BYTES_MIN, kept_secret
from jobdeck_backend.settings import Settings

log = structlog.get_logger(__name__)

EXIT_IDENTITY = 15
FETCH_TIMEOUT_S = 5.0
"""For the whole of it, however slowly it comes."""
# A key nobody knows may be a new one; whoever invents them makes the issuer be asked no oftener than so.
FETCH_PAUSE_S = 10.0
TRUSTED_S = 300.0
"""How long keys count before the issuer is asked again: one that it took back is out by then."""
KEY_SET_BYTES_MAX = 256 << 10
ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
PUBLIC_KINDS = ("RSA", "EC", "OKP")


class Keys(Protocol):
    """Gives the key that a token's header names."""

    algorithms: tuple[str, ...]

    async def key(self, header: dict[str, Any]) -> Any:
        """Raises ``TokenInvalid`` where there is none, ``Unavailable`` where it cannot be known now."""


class OwnSecret:
    """One secret, with which ``jobdeck token`` signs."""

    algorithms: tuple[str, ...] = ("HS256",)

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    async def key(self, header: dict[str, Any]) -> Any:  # noqa: ARG002
        """The same for all."""
        return self.secret


class KeyFile:
    """A JSON Web Key Set on disk, read anew when it has changed."""

    algorithms: tuple[str, ...] = ASYMMETRIC

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: tuple[int, ...] = ()
        self._trouble = ""
        self._keys: list[jwt.PyJWK] = []
        self._keys_now()

    async def key(self, header: dict[str, Any]) -> Any:
        """The one named; the only one where none is named."""
        return named(self._keys_now(), header)

    def _keys_now(self) -> list[jwt.PyJWK]:
        """Those read last count until they can be read again. Raises ``StartRefused`` where none were."""
        try:
            found = self._path.stat()
            state = found.st_ino, found.st_size, found.st_mtime_ns
            if state != self._state:
                self._keys, self._state, self._trouble = public_keys(self._path.read_bytes()), state, ""
        except (OSError, ValueError, jwt.PyJWTError) as error:
            if not self._keys:
                raise StartRefused(f"no keys can be read from {self._path}: {error}", EXIT_IDENTITY) from None
            if self._trouble != str(error):  # once, however many ask
                self._trouble = str(error)
                log.warning("the issuer's keys cannot be read; those read before count", cause=self._trouble)
        return self._keys


class KeyServer:
    """An issuer's JSON Web Key Set: fetched when a token names a key that is not known, and when it is old.

    Whoever waits for a fetch waits on the loop, all for the same one; those whose key is known wait for none.
    """

    algorithms: tuple[str, ...] = ASYMMETRIC

    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: list[jwt.PyJWK] = []
        self._fetch: asyncio.Task[None] | None = None
        self._fetched_at = float("-inf")
        self._failed = False

    async def key(self, header: dict[str, Any]) -> Any:
        """The one named; the only one where none is named."""
        age_s = monotonic() - self._fetched_at
        try:
            found = named(self._keys, header)
        except TokenInvalid:
            if age_s >= FETCH_PAUSE_S or self._is_fetching():
                await asyncio.shield(self._fetching())
            if self._failed:
                raise Unavailable(
                    "the issuer's keys cannot be had just now; nothing was done",
                    retry_after_s=round(FETCH_PAUSE_S),
                ) from None
            return named(self._keys, header)
        if age_s >= (FETCH_PAUSE_S if self._failed else TRUSTED_S):
            self._fetching()
        return found

    def _is_fetching(self) -> bool:
        return self._fetch is not None and not self._fetch.done()

    def _fetching(self) -> "asyncio.Task[None]":
        """The fetch that is on its way, or one that begins."""
        if self._fetch is None or self._fetch.done():
            self._fetched_at = monotonic()
            self._fetch = asyncio.create_task(self._fetch_keys())
        return self._fetch

    async def _fetch_keys(self) -> None:
        """Those known count on where it fails: an issuer may be away for a while."""
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_S):
                self._keys = public_keys(await _read(self._url))
            self._failed = False
        except (TimeoutError, httpx.HTTPError, ValueError, jwt.PyJWTError) as error:
            self._failed = True
            log.warning("the issuer's keys cannot be fetched", cause=str(error) or type(error).__name__)


async def _read(url: str) -> bytes:
    """What is there, and nowhere else: a redirect is not followed. Raises ``httpx.HTTPError``, ``ValueError``."""
    as_it_is = {"Accept-Encoding": "identity"}
    async with (
        httpx.AsyncClient(timeout=FETCH_TIMEOUT_S) as client,
        client.stream("GET", url, headers=as_it_is) as response,
    ):
        if response.status_code != 200:
            raise ValueError(f"the answer is {response.status_code}")
        body = b""
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > KEY_SET_BYTES_MAX:
                raise ValueError(f"a key set has at most {KEY_SET_BYTES_MAX} bytes")
        return body


def public_keys(text: bytes) -> list[jwt.PyJWK]:
    """The keys of a set that only verify: one that also signs would let everybody who reads it sign."""
    key_set = orjson.loads(text)
    if not isinstance(key_set, dict) or not isinstance(key_set.get("keys"), list):
        raise ValueError("it is no JSON Web Key Set")
    public = [one for one in key_set["keys"] if isinstance(one, dict) and _only_verifies(one)]
    if not public:
        raise ValueError("there is no public key in it")
    return jwt.PyJWKSet(public).keys


def _only_verifies(key: dict[str, Any]) -> bool:
    return (
        key.get("kty") in PUBLIC_KINDS
        and key.get("use") in (None, "sig")
        and key.get("alg") in (None, *ASYMMETRIC)
    )


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
