"""``drill``: inject a fault, watch what is expected and seen, and say with the exit code whether all was met."""

import asyncio
import contextlib
import sys
from collections.abc import Callable

import click

from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.client.drills import Drill, read_drill
from jobdeck_tui.client.instance import running_instance
from jobdeck_tui.client.restart import Restart
from jobdeck_tui.core.drill_words import (
    FAULTS,
    GUARANTEES,
    NOT_SHOWN,
    SHOWS_NOTHING,
    end_line,
    shows_nothing,
    step_line,
)

from .exits import FAILED, NOTHING_SHOWN, OK, USAGE, Exit, say_error
from .options import Target, json_option, target_options
from .output import print_json, print_line

API_LOSS = "api-loss"
LOOK_SECONDS = 0.1
ENDS = {"passed": OK, NOT_SHOWN: NOTHING_SHOWN}

Say = Callable[[str], None]


@click.command("drill")
@click.argument("fault", metavar="FAULT", type=click.Choice(FAULTS))
@click.option("--target", "worker", metavar="WORKER", help="The worker meant (default: the busiest).")
@click.option("--yes", is_flag=True, help="Do not ask for the fault's name.")
@json_option
@target_options
def drill_command(target: Target, *, fault: str, worker: str | None, yes: bool, as_json: bool) -> int:
    """Inject a fault, watch the recovery, and report what was expected against what was seen.

    Exits with 0 when all was met in time, with 1 when something was late or failed, or was healed by hand. Where
    nothing ran that the fault could hit, nothing was shown: 5.
    Ctrl-C heals: what was stopped goes on. api-loss kills this machine's backend and starts it again.
    """
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("A drill injects a real fault: confirm it with --yes. Nothing was done.")
    url = target.url()
    restart = _restart(target) if fault == API_LOSS else None
    if asyncio.run(_is_idle(url, fault, worker)):
        say_error(SHOWS_NOTHING)
    if not yes:
        _confirm(fault, url)
    say = _say_aside if as_json else print_line
    data = asyncio.run(_drill(url, fault, worker, restart, say))
    if as_json:
        print_json(data)
    drill = read_drill(data)
    say(end_line(drill))
    return ENDS.get(drill.state, FAILED)


async def _is_idle(url: str, fault: str, worker: str | None) -> bool:
    async with Api(url) as api:
        return shows_nothing(fault, worker, await api.overview(), (await api.cluster()).workers)


def _restart(target: Target) -> Restart:
    """Raises ``Exit`` where the server meant is not a backend of this machine."""
    found = running_instance(target.directory)
    if target.server is not None or found is None:
        raise Exit(
            USAGE, "api-loss kills a backend of this machine: name it by --state-dir. Nothing was done."
        )
    return Restart(found)


def _confirm(fault: str, url: str) -> None:
    """Raises ``Exit`` unless the fault's name is typed."""
    click.echo(f"{GUARANTEES[fault]}\n")
    if click.prompt(f"Type {fault} to inject it into {url}", default="", show_default=False) != fault:
        raise Exit(USAGE, f"That is not {fault}. Nothing was done.")


def _say_aside(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


async def _drill(url: str, fault: str, worker: str | None, restart: Restart | None, say: Say) -> object:
    """Give the drill's record at its end; interrupted, heal it first."""
    async with Api(url) as api:
        begun = await api.start_drill(fault, confirm=fault, target=worker)
        try:
            if restart is not None:
                await _lose(restart, say)
            return await _to_the_end(api, begun, say)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # interrupted all the same
                await api.heal_drill(begun.id)
                say_error(f"drill {begun.id} was healed")
            raise


async def _lose(restart: Restart, say: Say) -> None:
    """Kill the backend, and answer once the next one does."""
    await asyncio.to_thread(restart.kill)
    say(f"killed    SIGKILL to the backend (pid {restart.killed.pid})")
    started = await asyncio.to_thread(restart.start)
    say(f"started   again as it was, pid {started.pid}, {started.url}")
    former = "it belonged to a deck" if restart.was_followed else "it has no terminal any more"
    say(f"          {former}; now it runs until it is told to stop (kill {started.pid})")


async def _to_the_end(api: Api, begun: Drill, say: Say) -> object:
    """Say each step as it is seen."""
    told = 0
    while True:
        data = await api.http.get(f"{OPS}/drills/{begun.id}")
        drill = read_drill(data)
        for step in drill.timeline[told:]:
            say(step_line(step))
        told = len(drill.timeline)
        if not drill.running:
            return data
        await asyncio.sleep(LOOK_SECONDS)
