"""A user's preferences: one JSON object, read with its revision and replaced by naming it (R34)."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Header, Response
from pydantic import BaseModel

from jobdeck_backend.api import caller
from jobdeck_backend.api.services import Serving
from jobdeck_backend.errors import InvalidInput, RevisionNeeded, StaleRevision, TooLarge
from jobdeck_backend.store.preferences import Namespace, Preferences

router = APIRouter(prefix="/v1/ops", tags=["operations API"])

BYTES_MAX = 64 << 10
REVISION_MAX = 2**31 - 2
EVERYBODY = Namespace("", "")
"""Where callers are not identified, all of them are one user."""
REFUSALS: dict[int | str, dict[str, Any]] = {
    412: {"description": "somebody wrote meanwhile: read again, work out anew"},
    413: {"description": "the object is too large"},
    428: {"description": "If-Match must name the revision that was read"},
    503: {"description": "the place where they are kept cannot be reached; Retry-After"},
}


class PreferencesView(BaseModel):
    """The record; ``ETag`` is its revision in quotation marks."""

    revision: int
    value: dict[str, Any]


@router.get("/preferences", response_model=PreferencesView, responses={503: REFUSALS[503]})
async def read(serving: Serving) -> Response:
    """What is remembered, and its revision: 0 where nothing was written yet."""
    return _answer(await serving.preferences.read(_namespace()))


@router.put("/preferences", response_model=PreferencesView, responses=REFUSALS)
async def write(
    value: Annotated[dict[str, Any], Body()],
    serving: Serving,
    if_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Replace what is remembered. ``If-Match`` names the revision that was read: a late write changes nothing."""
    expected, text = _revision(if_match), _text(value)
    if not await serving.preferences.write(_namespace(), text, expected):
        raise StaleRevision("somebody wrote the preferences meanwhile; nothing was stored: read them again")
    return _answer(Preferences(expected + 1, value))


def _namespace() -> Namespace:
    asking = caller.principal()
    return EVERYBODY if asking is None else Namespace(asking.issuer, asking.subject)


def _revision(if_match: str | None) -> int:
    if if_match is None:
        raise RevisionNeeded('If-Match must name the revision that was read, such as "7"; nothing was stored')
    digits = if_match.strip().removeprefix('"').removesuffix('"')
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and int(digits) <= REVISION_MAX):
        raise InvalidInput('If-Match must be one revision, such as "7"; nothing was stored')
    return int(digits)


def _text(value: dict[str, Any]) -> str:
    try:
        text = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError) as error:
        raise InvalidInput(f"the object cannot be kept: {error}") from None
    if len(text) > BYTES_MAX:
        raise TooLarge(f"preferences may have at most {BYTES_MAX} bytes; nothing was stored")
    return text.decode()


def _answer(found: Preferences) -> Response:
    body = orjson.dumps({"revision": found.revision, "value": found.value})
    return Response(body, media_type="application/json", headers={"ETag": f'"{found.revision}"'})
