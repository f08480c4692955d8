"""Bearer tokens (JWT, RFC 7519): verified whole or worth nothing, and made for jobdeck's own callers."""

from time import monotonic
from typing import Any

import jwt

from jobdeck_backend.clock import LATEST, now
from jobdeck_backend.errors import NotAllowed, TokenExpired, TokenInvalid
from jobdeck_backend.identity.keys import Keys
from jobdeck_backend.identity.principal import Principal, roles_of

LEEWAY_S = 5.0
"""By which an issuer's clock may be ahead."""
TRUSTED_S = 60.0
"""How long a verified token is not verified again; its expiry is looked at each time."""
REMEMBERED_MAX = 1_024
TOKEN_CHARS_MAX = 16_384
OBJECTIONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.InvalidSignatureError, "its signature is not one of this server's keys"),
    (jwt.MissingRequiredClaimError, "it lacks one of exp, iss and aud"),
    (jwt.InvalidIssuerError, "its issuer is another one"),
    (jwt.InvalidAudienceError, "it is for another audience"),
    (jwt.InvalidAlgorithmError, "its algorithm is not taken"),
    (jwt.InvalidKeyError, "it is signed with another kind of key"),
    (jwt.DecodeError, "it is no JSON Web Token"),
)
"""What may be wrong with one, in words that say nothing of what is in it."""


class Verifier:
    """Answers who a token names: signature, issuer, audience and expiry, by jobdeck's own clock (R11, R32)."""

    def __init__(self, keys: Keys, *, issuer: str, audience: str, roles_claim: str) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._roles_claim = roles_claim
        self._verified: dict[str, tuple[Principal, float]] = {}

    def remembered(self, token: str) -> Principal | None:
        """Who a token names that was verified a moment ago. Raises ``TokenExpired``."""
        principal, until = self._verified.get(token, (None, 0.0))
        if principal is None or until < monotonic():
            return None
        _must_be_valid(principal.expires_at)
        return principal

    async def verify(self, token: str) -> Principal:
        """Who it names; the issuer may be asked for its keys.

        Raises ``TokenInvalid``, ``TokenExpired``, ``NotAllowed`` (it names nobody), ``Unavailable``.
        """
        claims = await self._claims(token)
        expires_at, begins_at = claims["exp"], claims.get("nbf", 0)
        if not all(type(one) in (int, float) and abs(one) <= LATEST for one in (expires_at, begins_at)):
            raise TokenInvalid("the token's times are none; nothing was done")
        _must_be_valid(expires_at)
        if begins_at > now() + LEEWAY_S:
            raise TokenInvalid("the token is not valid yet; nothing was done")
        principal = self._principal(claims)
        if len(self._verified) >= REMEMBERED_MAX:
            self._verified.clear()
        self._verified[token] = principal, monotonic() + TRUSTED_S
        return principal

    async def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > TOKEN_CHARS_MAX:
            raise TokenInvalid("the token is too long; nothing was done")
        try:
            return jwt.decode(
                token,
                await self._keys.key(jwt.get_unverified_header(token)),
                algorithms=self._keys.algorithms,
                issuer=self._issuer,
                audience=self._audience,
                # Times are looked at here, by a clock that nobody steps.
                options={
                    "require": ["exp", "iss", "aud"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            objection = next((words for kind, words in OBJECTIONS if isinstance(error, kind)), "")
            raise TokenInvalid(
                f"the token is not valid here{objection and ': '}{objection}; nothing was done"
            ) from None

    def _principal(self, claims: dict[str, Any]) -> Principal:
        subject = claims.get("sub")
        roles = roles_of(claims.get(self._roles_claim))
        principal = Principal(
            self._issuer, subject if isinstance(subject, str) else "", roles, float(claims["exp"])
        )
        if (objection := principal.objection()) is not None:
            raise NotAllowed(f"the token names nobody: {objection}; nothing was done")
        return principal


def make_token(secret: bytes, principal: Principal, *, audience: str, roles_claim: str) -> str:
    """A token of jobdeck's own."""
    claims = {
        "iss": principal.issuer,
        "sub": principal.subject,
        "aud": audience,
        "iat": int(now()),
        "exp": int(principal.expires_at),
        roles_claim: sorted(principal.roles),
    }
    return jwt.encode(claims, secret, "HS256")


def _must_be_valid(expires_at: float) -> None:
    if not expires_at > now():
        raise TokenExpired("the token has expired; nothing was done")
