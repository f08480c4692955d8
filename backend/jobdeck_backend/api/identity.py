"""Who asks, and what they may: looked at once, before any route, so that no route can forget it (R32, R36).

Without authentication nobody is known and everybody may everything, which is why the server then stays on
loopback. With it a caller has its own jobs in both contracts, and what its roles add: a viewer sees all of them
and the operations API, an operator acts, drills take their own role.
"""

import re
from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING, cast

from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from jobdeck_backend.api import caller
from jobdeck_backend.api.failures import WORKFLOW_PATHS, failure
from jobdeck_backend.api.services import Services
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import (
    JobdeckError,
    JobNotFound,
    NotAllowed,
    NotFound,
    TokenInvalid,
    TokenMissing,
)
from jobdeck_backend.identity.principal import Principal, Role
from jobdeck_backend.store import admissions

if TYPE_CHECKING:
    from jobdeck_backend.identity.tokens import Verifier

OPEN_PATHS = frozenset({"/live", "/health", "/openapi.json"})
"""What watches a server needs no name."""
OPERATIONS, DRILLS, OWN_PREFERENCES = "/v1/ops/", "/v1/ops/drills", "/v1/ops/preferences"
CALLERS_OWN = ("/v1/jobs/async/", "/v1/workflow/", "/generate/", "/v1/data_sources")
MINUTE_S = 60
DENIALS_A_MINUTE_MAX = 60
"""Of one caller, that are put on record."""
LAST_DENIAL = "; what follows within this minute is not on record"
LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_JOB = re.compile(r"/(?:v1/jobs/async|v1/workflow/async|generate/async)/job/([^/]+)(?:/|$)")


class Identified:
    """Lets requests through whose caller was verified and may do what they ask."""

    def __init__(self, app: ASGIApp, verifier: "Verifier") -> None:
        self.app = app
        self._verifier = verifier
        self._minute = 0
        self._denials: Counter[str] = Counter()
        """Of this minute, by caller."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self.app(scope, receive, send)
            return
        try:
            asking = await self._verified(scope)
            await self._must_be_allowed(asking, scope)
        except (JobdeckError, DBAPIError) as error:
            await failure(Request(scope), error)(scope, receive, send)
            return
        with caller.known_as(asking):
            await self.app(scope, receive, send)

    async def _verified(self, scope: Scope) -> Principal:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if not given:
            raise TokenMissing("say who you are: Authorization: Bearer and a token; nothing was done")
        scheme, _, token = given[0].decode("latin-1").partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
            raise TokenInvalid("Authorization must be one, Bearer and a token; nothing was done")
        token = token.strip()
        known = self._verifier.remembered(token)
        return known if known is not None else await self._verifier.verify(token)

    async def _must_be_allowed(self, asking: Principal, scope: Scope) -> None:
        """Raises ``NotAllowed``, and ``NotFound`` of another's job just as of none."""
        path, looks = scope["path"], scope["method"] in LOOKING
        serving = cast("Services", scope["app"].state.services)
        if (wanted := _role_for(path, looks=looks)) is not None and not asking.may(wanted):
            if not looks:
                await self._record_denial(asking, path.removeprefix(OPERATIONS)[:200], serving)
            raise NotAllowed(
                f"this takes the role {wanted}, which your token does not give; nothing was done"
            )
        named = _JOB.match(path)
        if named is None or asking.may(Role.VIEWER if looks else Role.OPERATOR):
            return
        job_id = named[1]
        owner = await serving.look(lambda tx: admissions.owner_of(tx, job_id))
        if owner != asking.owner:  # one answer to both, whatever else is wrong with the request
            raise _no_such_job(job_id, path)

    async def _record_denial(self, asking: Principal, act: str, serving: Services) -> None:
        """Put it in the audit, which is kept for ever: who may nothing must not be able to fill a disk with it."""
        minute = int(monotonic() // MINUTE_S)
        if minute != self._minute:
            self._minute, self._denials = minute, Counter()
        self._denials[asking.owner] += 1
        left = DENIALS_A_MINUTE_MAX - self._denials[asking.owner]
        if left >= 0:
            result = f"refused: not_allowed, {act}" + (LAST_DENIAL if left == 0 else "")
            by = operators.By(asking.owner, now())
            await serving.writer.submit(operators.note, "denied", result, by)


def _role_for(path: str, *, looks: bool) -> Role | None:
    """The role that a path takes; None where each caller has its own. What is not known to be so takes one."""
    if path == OWN_PREFERENCES or path.startswith(CALLERS_OWN):
        return None
    if looks:
        return Role.VIEWER
    return Role.DRILL if path.startswith(DRILLS) else Role.OPERATOR


def _no_such_job(job_id: str, path: str) -> NotFound:
    if path.startswith(WORKFLOW_PATHS):
        return NotFound(f"Job {job_id} not found")
    return JobNotFound(job_id)
