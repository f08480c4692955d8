"""``report``: what a job made, as text to read or to pipe."""

import asyncio

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import JOBS, Api

from .exits import FAILED, OK, say_error
from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("report")
@click.argument("job")
@json_option
@target_options
def report_command(target: Target, *, job: str, as_json: bool) -> int:
    """Print the report of JOB, given by its id or the beginning of it. Exits with 1 where it has none."""
    data = asyncio.run(_read(target.url(), job))
    report = decode.report(data)
    if as_json:
        print_json(data)
    elif report.text is not None:
        print_line(report.text.rstrip("\n"))
    else:
        say_error(f"{report.job_id} has no report; 'jobdeck why {report.job_id}' says where it is.")
    return OK if report.has_report else FAILED


async def _read(url: str, given: str) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{JOBS}/job/{await full_id(api, given)}/report")
