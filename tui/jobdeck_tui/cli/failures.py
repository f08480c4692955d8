"""``failures``: what failed, by kind and stage, with the newest of each."""

import asyncio
from collections.abc import Iterator

import click

from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.client.fields import Fields, many
from jobdeck_tui.client.workers import Failure, failure
from jobdeck_tui.text.format import NONE, instant, padded

from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("failures")
@click.option(
    "--traceback", "with_traceback", is_flag=True, help="Print where the newest of each kind failed."
)
@json_option
@target_options
def failures_command(target: Target, *, with_traceback: bool, as_json: bool) -> None:
    """Print what failed, grouped by the kind of error and the stage, the one last seen first."""
    data = asyncio.run(_failures(target.url()))
    if as_json:
        print_json(data)
        return
    found = many(Fields(data).listed("failures"), failure)[0]
    if not found:
        print_line("No job has failed.")
    for one in found:
        for text in _lines(one, with_traceback=with_traceback):
            print_line(text)


def _lines(one: Failure, *, with_traceback: bool) -> Iterator[str]:
    kind = padded(one.error_type or NONE, 24)
    yield f"{one.count:>6}  {kind} {padded(one.stage or NONE, 20)} last {instant(one.last_seen)}"
    where = f" on {one.worker}" if one.worker else ""
    yield f"        newest {one.job_id}{where}: {one.message}"
    if with_traceback and one.traceback is not None:
        yield from (f"        {line}" for line in one.traceback.split("\n"))


async def _failures(url: str) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{OPS}/failures")
