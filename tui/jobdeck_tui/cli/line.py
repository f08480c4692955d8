"""``clone`` and ``priority``: a request submitted again, and a job moved in the line."""

import asyncio

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import Api, job_path
from jobdeck_tui.core.columns import display_state
from jobdeck_tui.text.format import state_word

from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("clone")
@click.argument("job")
@click.option("--job-id", "new_id", help="The new job's id (default: one is made).")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def clone_command(target: Target, *, job: str, new_id: str | None, reason: str | None, as_json: bool) -> None:
    """Submit the request of JOB again, as a new job with as long a window; prints its id."""
    fields: dict[str, object] = {"job_id": new_id, "reason": reason}
    data = asyncio.run(_send(target.url(), job, "clone", fields))
    if as_json:
        print_json(data)
    else:
        print_line(decode.job(data).job_id)


@click.command("priority")
@click.argument("job")
@click.argument("priority", type=click.IntRange(-1000, 1000))
@click.option("--reason", help="Why; it is recorded with the act.")
@click.option("--version", type=int, help="Only if the job is still at this version.")
@json_option
@target_options
def priority_command(
    target: Target, *, job: str, priority: int, reason: str | None, version: int | None, as_json: bool
) -> None:
    """Move JOB in the line: among equal deadlines the higher PRIORITY goes first."""
    fields: dict[str, object] = {"priority": priority, "reason": reason, "version": version}
    data = asyncio.run(_send(target.url(), job, "priority", fields))
    if as_json:
        print_json(data)
        return
    row = decode.job(data)
    print_line(f"{row.job_id} {state_word(display_state(row))} priority {row.priority} version {row.version}")


async def _send(url: str, given: str, act: str, fields: dict[str, object]) -> object:
    async with Api(url) as api:
        job_id = await full_id(api, given)
        body = {name: value for name, value in fields.items() if value is not None}
        return await api.http.post(f"{job_path(job_id)}/{act}", body)
