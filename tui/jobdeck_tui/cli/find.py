"""A job by its id, or by the beginning of it that the deck shows."""

from urllib.parse import quote

from jobdeck_tui.client.api import JOBS, Api
from jobdeck_tui.client.errors import Refused

PREFIX_CHARACTERS_MIN = 6
CANDIDATES_SAID = 5


async def full_id(api: Api, given: str) -> str:
    """Give the id of the job that is meant: ``given`` itself, else the only id that begins with it.

    Raises:
        Refused: no job has such an id, or several have.
    """
    try:
        await api.http.get(f"{JOBS}/job/{quote(given, safe='')}")
    except Refused as error:
        if error.status != 404 or len(given) < PREFIX_CHARACTERS_MIN:
            raise
    else:
        return given
    candidates: list[str] = []
    async for page in api.pages():
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
