"""A job by its id, or by the beginning of it that the deck shows."""

import re
from urllib.parse import quote

from jobdeck_tui.client.api import JOBS, Api
from jobdeck_tui.client.errors import Refused

PREFIX_CHARACTERS_MIN = 6
"""Shorter beginnings name a job too easily by mistake."""
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Nothing in an id means anything in a filter."""
CANDIDATES_SAID = 5


async def full_id(api: Api, given: str) -> str:
    """Give the id of the job that is meant: ``given`` itself, else the only id that begins with it.

    Raises:
        Refused: no job has such an id, or several have.
    """
    try:
        await api.http.get(f"{JOBS}/job/{quote(given, safe='')}")
    except Refused as error:
        if error.status != 404 or _PREFIX.fullmatch(given) is None:
            raise
        if len(given) < PREFIX_CHARACTERS_MIN:
            raise Refused(
                f"Job not found: {given}. Of an id's beginning give {PREFIX_CHARACTERS_MIN} characters or more.",
                status=404,
                code="not_found",
            ) from None
    else:
        return given
    candidates: list[str] = []
    async for page in api.pages(f"id:{given}"):
        candidates += [job.job_id for job in page.jobs if job.job_id.startswith(given)]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise Refused(f"Job not found: {given}.", status=404, code="not_found")
    said = ", ".join(candidates[:CANDIDATES_SAID])
    raise Refused(
        f"{len(candidates)} jobs begin with {given}: {said}. Give more of the id.",
        status=409,
        code="ambiguous",
    )
