"""``queues``, ``pause`` and ``unpause``: how deep, how old, how fast; and whether their jobs start."""

import asyncio

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import OPS, Api, pause_call
from jobdeck_tui.client.fields import Fields, many
from jobdeck_tui.client.models import Queue
from jobdeck_tui.text.format import NONE, age, duration, padded

from .options import Target, json_option, target_options
from .output import print_json, print_line

DEPTHS = ("backlog", "waiting", "queued", "assigned", "running", "held")
HEAD = (
    f"{'QUEUE':<24} {'STATE':<7}"
    + "".join(f"{name.upper():>9}" for name in DEPTHS)
    + "   OLDEST      P50      P95   /MIN  RISK"
)


@click.command("queues")
@json_option
@target_options
def queues_command(target: Target, *, as_json: bool) -> None:
    """Print every queue that has or had jobs, or is paused."""
    data = asyncio.run(_read(target.url()))
    if as_json:
        print_json(data)
        return
    queues = many(Fields(data).listed("queues"), decode.queue)[0]
    print_line(HEAD)
    for queue in queues:
        print_line(_line(queue))


def _line(queue: Queue) -> str:
    depths = "".join(f"{queue.depth.get(name, 0):>9}" for name in DEPTHS)
    oldest = NONE if queue.oldest_age is None else age(queue.oldest_age)
    times = "".join(f"{NONE if one is None else duration(one):>9}" for one in (queue.p50, queue.p95))
    state = "paused" if queue.paused else "open"
    figures = f"{oldest:>9}{times}{queue.done_per_minute:>7g}{queue.at_risk:>6}"
    return f"{padded(queue.name, 24)} {state:<7}{depths}{figures}"


async def _read(url: str) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{OPS}/queues")


@click.command("pause")
@click.argument("queue")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def pause_command(target: Target, *, queue: str, reason: str | None, as_json: bool) -> None:
    """Hand no job of QUEUE to Dask until it is unpaused. It goes on accepting jobs; what Dask holds goes on."""
    _set(target, queue, reason, paused=True, as_json=as_json)


@click.command("unpause")
@click.argument("queue")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def unpause_command(target: Target, *, queue: str, reason: str | None, as_json: bool) -> None:
    """Let the jobs of QUEUE start again."""
    _set(target, queue, reason, paused=False, as_json=as_json)


def _set(target: Target, name: str, reason: str | None, *, paused: bool, as_json: bool) -> None:
    data, known = asyncio.run(_send(target.url(), name, reason, paused=paused))
    if as_json:
        print_json(data)
        return
    queue = decode.queue(data)
    print_line(f"queue {queue.name} {_paused(queue) if queue.paused else _open(queue)}")
    if queue.jobs == 0:
        print_line(f"No job of it is on record. Queues with jobs: {', '.join(known) or 'none yet'}")


def _paused(queue: Queue) -> str:
    with_dask = sum(queue.depth.get(state, 0) for state in ("queued", "assigned"))
    return (
        "is paused: no more of its jobs go to Dask; "
        f"{with_dask} not started there go on, {queue.depth.get('backlog', 0)} in the backlog stay"
    )


def _open(queue: Queue) -> str:
    unstarted = sum(queue.depth.get(state, 0) for state in ("backlog", "waiting", "queued"))
    return f"is open, its jobs start; {unstarted} wait"


async def _send(url: str, name: str, reason: str | None, *, paused: bool) -> tuple[object, list[str]]:
    """Give the queue as it is now, and the names of those with jobs where it had none."""
    async with Api(url) as api:
        data = await api.http.post(*pause_call(name, paused=paused, reason=reason))
        others = await api.queues() if decode.queue(data).jobs == 0 else ()
        return data, [queue.name for queue in others if queue.jobs]
