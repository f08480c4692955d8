"""``verdict``: say what became of an effect that only a person can judge."""

import asyncio

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import Api, job_path, verdict_call
from jobdeck_tui.client.models import Effect
from jobdeck_tui.core.effect_rows import state_words

from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("verdict")
@click.argument("job")
@click.argument("effect")
@click.argument("verdict", metavar="VERDICT", type=click.Choice(("happened", "not_happened", "retry")))
@click.option("--proof", help="What shows that it happened, such as the provider's own number.")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def verdict_command(
    target: Target,
    *,
    job: str,
    effect: str,
    verdict: str,
    proof: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Say of an uncertain EFFECT of JOB that it happened, that it did not, or that it is to be tried again.

    EFFECT is its key, or its name where the job has only one of that name. The job is then resumed by resume.
    """
    if (verdict == "happened") != bool(proof):
        raise click.UsageError("--proof goes with happened, and only with it.")
    data = asyncio.run(_judge(target.url(), job, effect, verdict, proof, reason))
    if as_json:
        print_json(data)
        return
    judged = decode.effect(data)
    print_line(f"{judged.key} {state_words(judged).partition(' ')[2]}")


async def _judge(
    url: str, given: str, effect: str, verdict: str, proof: str | None, reason: str | None
) -> object:
    async with Api(url) as api:
        job_id = await full_id(api, given)
        detail = decode.job_detail(await api.http.get(job_path(job_id)))
        key = _key(detail.effects, effect)
        return await api.http.post(*verdict_call(job_id, key, verdict, proof, reason))


def _key(effects: tuple[Effect, ...], given: str) -> str:
    """The key meant; one that the job does not have is left to the server to refuse."""
    named = [effect.key for effect in effects if effect.name == given]
    if len(named) > 1:
        raise click.UsageError(f"The job has {len(named)} effects named {given}: {', '.join(named)}")
    return named[0] if named else given
