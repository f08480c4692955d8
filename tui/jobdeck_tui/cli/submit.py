"""``submit``: ask for a job, as any client of the jobs API does."""

import asyncio
import sys
from pathlib import Path

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import JOBS, Api

from .exits import OK
from .options import Target, json_option, target_options
from .output import print_json, print_line
from .watch import follow

INPUT_BYTES_MAX = 64 << 20


@click.command("submit")
@click.argument("agent")
@click.argument("text", metavar="INPUT|-|@FILE")
@click.option("--job-id", help="The id to claim; asking again with it never starts a second job.")
@click.option(
    "--deadline-seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="From acceptance, queue wait included.",
)
@click.option("--strict", is_flag=True, help="Only if that deadline can be met; else nothing is stored.")
@click.option("--after", multiple=True, metavar="JOB", help="Wait for this job to succeed (may be repeated).")
@click.option("--queue", help="The queue to line up under (default: the workflow's).")
@click.option("--priority", type=int, help="Breaks ties between equal deadlines; higher goes first.")
@click.option("--callback-url", metavar="URL", help="Gets a signed POST when the job ends or is held.")
@click.option("--follow", "follows", is_flag=True, help="Then watch it to its end.")
@json_option
@target_options
def submit_command(
    target: Target, *, agent: str, text: str, strict: bool, follows: bool, as_json: bool, **options: object
) -> int:
    """Submit a job of the workflow AGENT with an INPUT: text, - for standard input, or @FILE.

    Prints the job's id.
    """
    request: dict[str, object] = {"agent_type": agent, "input": _input(text)}
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    request |= {name: value for name, value in given.items() if value not in (None, [])}
    request |= {"admission": "strict"} if strict else {}
    url = target.url()
    job_id = asyncio.run(_submit(url, request, as_json=as_json, one_line=follows))
    return asyncio.run(follow(url, job_id, as_json=as_json)) if follows else OK


async def _submit(url: str, request: dict[str, object], *, as_json: bool, one_line: bool) -> str:
    async with Api(url) as api:
        answer = await api.http.post(f"{JOBS}/submit", request)
    accepted = decode.submitted(answer)
    if as_json:
        print_json(answer, indent=None if one_line else 2)
    else:
        print_line(accepted.job_id)
    return accepted.job_id


def _input(text: str) -> str:
    """Give the input itself: what was typed, what comes in, or what a file holds."""
    if text == "-":
        data = sys.stdin.buffer.read(INPUT_BYTES_MAX + 1)
        source = "standard input"
    elif text.startswith("@"):
        path = Path(text[1:])
        try:
            with path.open("rb") as file:
                data = file.read(INPUT_BYTES_MAX + 1)
        except OSError as error:
            raise click.BadParameter(
                f"{path} cannot be read ({error.strerror}).", param_hint="INPUT"
            ) from error
        source = str(path)
    else:
        return text
    if len(data) > INPUT_BYTES_MAX:
        raise click.BadParameter(f"{source} is larger than {INPUT_BYTES_MAX} bytes.", param_hint="INPUT")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{source} is not UTF-8 text.", param_hint="INPUT") from error
