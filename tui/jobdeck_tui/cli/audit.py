"""``audit``: who did what, why, and what came of it."""

import asyncio

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.client.fields import Fields, many
from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.text.format import NONE, instant, padded

from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("audit")
@click.option("--act", help="Only this act, such as cancel, drain or pause.")
@click.option("--job", "job_id", help="Only acts on the job with this id.")
@click.option("--refused/--done", default=None, help="Only those refused, or only those done.")
@click.option("--before", type=int, help="Only acts with a lower number than this one.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@json_option
@target_options
def audit_command(target: Target, *, as_json: bool, **wanted: str | int | bool | None) -> None:
    """Print the acts of everybody, newest first, refused ones too."""
    asked = {name: value for name, value in wanted.items() if value is not None}
    data = asyncio.run(_read(target.url(), {"newest": True, **asked}))
    if as_json:
        print_json(data)
        return
    answer = Fields(data)
    for act in many(answer.listed("acts"), decode.audit_row)[0]:
        print_line(_line(act))
    if (older := answer.maybe_integer("next")) is not None:
        print_line(f"older ones: --before {older}")


def _line(act: AuditRow) -> str:
    why = f"  ({act.reason})" if act.reason else ""
    who = f"{padded(act.actor, 10)} {padded(act.act, 20)}"
    return f"{act.id:>6} {instant(act.at)} {who} {act.job_id or NONE}  {act.result}{why}"


async def _read(url: str, asked: dict[str, str | int | bool]) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{OPS}/audit", asked)
