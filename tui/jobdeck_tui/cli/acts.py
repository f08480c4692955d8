"""``cancel``, ``expire``, ``resume`` and ``grant``: the deck's acts, for one or more jobs."""

import asyncio
from collections.abc import Callable
from typing import Any

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import Api, act_call
from jobdeck_tui.client.errors import ClientError, Denied, NotReachable, Refused
from jobdeck_tui.core.columns import display_state
from jobdeck_tui.text.format import state_word

from . import bulk
from .exits import OK, client_exit_code, nothing_changed, say_error, sentence
from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line


def _act_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        click.argument("jobs", nargs=-1),
        click.option(
            "--matching", metavar="FILTER", help="All that match instead; a dry run unless --count is given."
        ),
        click.option(
            "--count", type=click.IntRange(min=0), help="How many jobs it will be: what the dry run said."
        ),
        click.option("--reason", help="Why; it is recorded with the act."),
        click.option("--version", type=int, help="Only if the job is still at this version."),
        json_option,
        target_options,
    ):
        command = decorate(command)
    return command


@click.command("cancel")
@_act_options
def cancel_command(target: Target, **act: Any) -> int:
    """Cancel JOBS, whether queued or running."""
    return _act(target, "cancel", **act)


@click.command("expire")
@_act_options
def expire_command(target: Target, **act: Any) -> int:
    """End unfinished JOBS now, as if their deadline had passed."""
    return _act(target, "expire", **act)


@click.command("resume")
@_act_options
def resume_command(target: Target, **act: Any) -> int:
    """Let held, failed or cancelled JOBS go on from their last checkpoint."""
    return _act(target, "resume", **act)


@click.command("grant")
@_act_options
@click.option(
    "--seconds",
    "extend_seconds",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    help="How much later: from the present deadline, or from now where it has passed.",
)
def grant_command(target: Target, **act: Any) -> int:
    """Give JOBS a later deadline; the old one stays on record."""
    return _act(target, "grant", **act)


def _act(
    target: Target,
    act: str,
    *,
    jobs: tuple[str, ...],
    matching: str | None,
    count: int | None,
    version: int | None,
    **how: Any,
) -> int:
    """Act on each job in turn, or on all that match; give the first failure's exit code, or 0."""
    bulk.check(jobs, matching, count, version)
    url = target.url()
    if matching is not None:
        return asyncio.run(bulk.act_on_matching(url, act, matching, count=count, **how))
    return asyncio.run(_act_on_named(url, act, jobs, version=version, **how))


async def _act_on_named(
    url: str,
    act: str,
    jobs: tuple[str, ...],
    *,
    reason: str | None,
    version: int | None,
    as_json: bool,
    extend_seconds: float | None = None,
) -> int:
    code = OK
    results: list[dict[str, object]] = []
    async with Api(url) as api:
        for given in dict.fromkeys(jobs):
            try:
                call = act_call(act, await full_id(api, given), version, reason, extend_seconds)
                row = await api.http.post(*call)
            except (NotReachable, Denied):
                # It would be the same for every other job.
                raise
            except ClientError as error:
                code = code or client_exit_code(error)
                results.append({"job_id": given, "ok": False, "error": error.message})
                if not as_json:
                    _say_refusal(act, given, error)
                continue
            results.append({"job_id": given, "ok": True, "job": row})
            if not as_json:
                job = decode.job(row)
                print_line(f"{job.job_id} {state_word(display_state(job))} version {job.version}")
    if as_json:
        print_json(results)
    return code


def _say_refusal(act: str, given: str, error: ClientError) -> None:
    now = ""
    if isinstance(error, Refused):
        now = nothing_changed(error)
        if error.current is not None:
            current = error.current
            now += f" It is {state_word(display_state(current))} at version {current.version} now."
    say_error(f"{act} {given}: {sentence(error.message)}{now}")
