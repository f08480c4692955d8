"""One act on all jobs that a filter matches: a dry run, or the count of the dry run before as a promise."""

import click

from jobdeck_tui.client import bulk
from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.text.format import plural

from .exits import OK, REFUSED, Exit
from .output import print_json, print_line


async def act_on_matching(
    url: str,
    act: str,
    filter_text: str,
    *,
    count: int | None,
    reason: str | None,
    as_json: bool,
    extend_seconds: float | None = None,
) -> int:
    """Say what an act would come to, or do it where ``count`` is how many it would be done to.

    What the dry run found is acted on, each at the version it had then: never a job that matched only later.

    Raises:
        Exit: it would be done to another number of jobs.
    """
    asked = {"act": act, "extend_seconds": extend_seconds, "reason": reason}
    async with Api(url) as api:
        answer = await api.http.post(f"{OPS}/jobs/bulk", {**asked, "filter": filter_text, "dry_run": True})
        said = bulk.bulk_answer(answer)
        versions = {one.job_id: one.version for one in said.results if one.ok and one.version is not None}
        if count is not None and count != len(versions):
            jobs = plural(len(versions), "job")
            raise Exit(REFUSED, f"Nothing was done: {act} can be done to {jobs}, not to {count}. Look again.")
        if count and versions:
            body = {**asked, "ids": list(versions), "versions": versions}
            answer = await api.http.post(f"{OPS}/jobs/bulk", body)
            said = bulk.bulk_answer(answer)
    if as_json:
        print_json(answer)
        return OK
    for one in said.results:
        print_line(f"{one.job_id} {one.code.replace('_', ' ')}: {one.message}")
    if count is None or not said.results:
        print_line(_dry_run_words(act, len(versions)))
    return OK if count is None or all(one.ok for one in said.results) else REFUSED


def _dry_run_words(act: str, jobs: int) -> str:
    if not jobs:
        return f"Nothing was done: there is no job that {act} can be done to."
    return f"A dry run, nothing was done. To do it: --count {jobs}"


def check(jobs: tuple[str, ...], matching: str | None, count: int | None, version: int | None) -> None:
    """Jobs are named or matched, never both.

    Raises:
        UsageError: neither or both were given, or an option that does not go with them.
    """
    if bool(jobs) == (matching is not None):
        raise click.UsageError("Name JOBS, or give --matching FILTER.")
    if matching is None and count is not None:
        raise click.UsageError("--count goes with --matching.")
    if matching is not None and version is not None:
        raise click.UsageError("--version is for jobs that are named.")
