"""``drain``, ``undrain``, ``restart`` and ``log``: one worker, while everything else goes on."""

import asyncio
from collections.abc import Callable
from time import monotonic

import click

from jobdeck_tui.client import decode, workers
from jobdeck_tui.client.api import OPS, Api, worker_call, worker_path
from jobdeck_tui.client.models import DaskWorker

from .exits import FAILED, OK
from .options import Target, json_option, target_options
from .output import print_json, print_line

Say = Callable[[str], None]
LOOK_SECONDS = 0.2
FRESH_WITHIN_SECONDS = 30.0
"""How long past a restart's grace a fresh worker is waited for."""


@click.command("drain")
@click.argument("worker")
@click.option("--reason", help="Why; it is recorded with the act.")
@click.option("--wait/--no-wait", default=True, help="Wait until nothing runs there any more (default).")
@json_option
@target_options
def drain_command(target: Target, *, worker: str, reason: str | None, wait: bool, as_json: bool) -> int:
    """Let WORKER take nothing new: what runs there ends there, what waits there goes elsewhere."""
    return asyncio.run(_drain(target.url(), worker, reason, wait=wait, as_json=as_json))


async def _drain(url: str, name: str, reason: str | None, *, wait: bool, as_json: bool) -> int:
    say = _silent if as_json else print_line
    async with Api(url) as api:
        answer = await api.http.post(*worker_call(name, "drain", reason, None))
        done = workers.worker_act(answer)
        say(done.result)
        state = done.state
        while wait and state == "draining":
            await asyncio.sleep(LOOK_SECONDS)
            found = (await _workers(api)).get(name)
            state = "gone" if found is None else found.state
        if as_json:
            print_json({"name": done.name, "state": state, "result": done.result})
        elif wait:
            print_line(f"worker {name} is {state}")
    return OK


@click.command("undrain")
@click.argument("worker")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def undrain_command(target: Target, *, worker: str, reason: str | None, as_json: bool) -> None:
    """Take a drained WORKER back: it is given work again."""
    answer = asyncio.run(_undrain(target.url(), worker, reason))
    if as_json:
        print_json(answer)
    else:
        print_line(workers.worker_act(answer).result)


async def _undrain(url: str, name: str, reason: str | None) -> object:
    async with Api(url) as api:
        return await api.http.post(*worker_call(name, "undrain", reason, None))


@click.command("restart")
@click.argument("worker")
@click.option(
    "--grace",
    "grace_seconds",
    type=click.FloatRange(0, 86_400),
    default=30.0,
    show_default=True,
    help="Seconds that jobs running there may take to finish; those cut off are recovered.",
)
@click.option("--reason", help="Why; it is recorded with the act.")
@click.option("--wait/--no-wait", default=True, help="Wait until a fresh worker is there (default).")
@json_option
@target_options
def restart_command(
    target: Target, *, worker: str, grace_seconds: float, reason: str | None, wait: bool, as_json: bool
) -> int:
    """Drain WORKER, end its process, and let a fresh one take its place.

    It frees a slot whose job ignores its cancel, too. Exits with 1 when no fresh worker came in time.
    """
    return asyncio.run(_restart(target.url(), worker, grace_seconds, reason, wait=wait, as_json=as_json))


async def _restart(
    url: str, name: str, grace_seconds: float, reason: str | None, *, wait: bool, as_json: bool
) -> int:
    say = _silent if as_json else print_line
    began = monotonic()
    async with Api(url) as api:
        before = await _workers(api)
        answer = await api.http.post(*worker_call(name, "restart", reason, grace_seconds))
        done = workers.worker_act(answer)
        say(done.result)
        fresh = await _fresh(api, name, set(before), grace_seconds, say) if wait else None
    took = monotonic() - began
    if as_json:
        print_json({"name": name, "result": done.result, "replaced_by": fresh, "seconds": round(took, 1)})
    elif fresh is not None:
        print_line(f"worker {fresh} took its place after {took:.1f} s")
    elif wait:
        print_line("no fresh worker is there yet; look with the deck's Cluster screen")
    return OK if fresh is not None or not wait else FAILED


async def _fresh(api: Api, name: str, before: set[str], grace_seconds: float, say: Say) -> str | None:
    """The worker that came in the named one's place; None when none came in time."""
    give_up_at = monotonic() + grace_seconds + FRESH_WITHIN_SECONDS
    ended = False
    while monotonic() < give_up_at:
        now = await _workers(api)
        if name not in now and not ended:
            say(f"worker {name} is gone")
            ended = True
        fresh = [one.name for one in now.values() if one.name not in before and one.state == "running"]
        if name not in now and fresh:
            return fresh[0]
        await asyncio.sleep(LOOK_SECONDS)
    return None


async def _workers(api: Api) -> dict[str, DaskWorker]:
    found = decode.cluster(await api.http.get(f"{OPS}/cluster")).workers
    return {one.name: one for one in found}


def _silent(_text: str) -> None:
    """Says nothing: with ``--json`` there is one answer, at the end."""


@click.command("log")
@click.argument("worker")
@click.option("--tail", type=click.IntRange(1, 5000), default=200, show_default=True, help="Lines.")
@json_option
@target_options
def log_command(target: Target, *, worker: str, tail: int, as_json: bool) -> None:
    """Print the end of WORKER's log, also of one that is gone."""
    data = asyncio.run(_log(target.url(), worker, tail))
    if as_json:
        print_json(data)
        return
    for text in workers.worker_log(data).lines:
        print_line(text)


async def _log(url: str, name: str, tail: int) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{worker_path(name)}/log", {"tail": tail})
