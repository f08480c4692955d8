"""``forecast``: when a job submitted now would be done, and whether a deadline could be promised."""

import asyncio
from collections.abc import Iterator

import click

from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.client.fields import Fields
from jobdeck_tui.text.format import NONE, duration, instant, padded, plural

from .exits import FAILED, OK
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("forecast")
@click.argument("agent", required=False)
@click.option(
    "--deadline-seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="The deadline asked for, from now (default: an hour).",
)
@click.option("--priority", type=int, help="Breaks ties between equal deadlines; higher goes first.")
@json_option
@target_options
def forecast_command(
    target: Target, *, agent: str | None, deadline_seconds: float | None, priority: int | None, as_json: bool
) -> int:
    """Print when a job submitted now would be done; of AGENT, whether its deadline could be promised.

    Nothing is submitted. Exits with 1 when it could not be promised.
    """
    asked = {"agent_type": agent, "deadline_seconds": deadline_seconds, "priority": priority}
    given = {name: value for name, value in asked.items() if value is not None}
    if agent is None and given:
        raise click.UsageError("--deadline-seconds and --priority are of an AGENT: name one.")
    data = asyncio.run(_read(target.url(), given))
    answer = Fields(data)
    promise = None if agent is None else Fields(answer.raw("asked"))
    lines = list(_whole(answer) if promise is None else _asked(promise))
    if as_json:
        print_json(data)
    else:
        for line in lines:
            print_line(line)
    return OK if promise is None or promise.flag("attainable") else FAILED


async def _read(url: str, given: dict[str, str | float | int]) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{OPS}/forecast", {name: str(value) for name, value in given.items()})


def _whole(answer: Fields) -> Iterator[str]:
    seconds, unfinished = answer.maybe_number("drain_seconds"), answer.integer("unfinished")
    stuck = answer.integer("stuck")
    whole = f"{plural(unfinished, 'job')} unfinished on {plural(answer.integer('slots'), 'slot')}"
    if stuck:
        whole += f"; {stuck} held or in a paused queue"
    if unfinished > stuck:
        which = "the others" if stuck else "all"
        told = f"{which} done in {duration(seconds)}" if seconds is not None else ""
        whole += f"; {told or f'when {which} are done cannot be told'}"
    yield whole
    yield f"{padded('AGENT', 24)} {padded('DONE BY', 20)}      P50      P95  OF"
    for one in map(Fields, answer.listed("workflows")):
        times = Fields(one.raw("service_time"))
        figures = "".join(f"{duration(times.number(name)):>9}" for name in ("p50", "p95"))
        count = times.integer("n")
        finish = instant(one.maybe_time("predicted_finish"))
        yield f"{padded(one.text('workflow'), 24)} {padded(finish, 20)}{figures}  {count or 'none: assumed'}"


def _asked(promise: Fields) -> Iterator[str]:
    finish = promise.maybe_time("predicted_finish")
    yield f"deadline  {instant(promise.time('deadline'))}"
    yield f"done by   {NONE if finish is None else instant(finish)}"
    if promise.flag("attainable"):
        yield "It can be promised."
        return
    yield f"It cannot be promised: {promise.text('reason')}."
    if (offer := promise.raw("offer")) is not None:
        yield f"The earliest that would hold: {instant(Fields(offer).time('deadline'))}"
