"""``bundle`` and ``resend``: all that is known about one job in one file, and telling its caller once more."""

import asyncio
from pathlib import Path

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import Api, job_path, resend_path
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.saving import Saving, bundle_name
from jobdeck_tui.core.job_view import callback_words

from .exits import FAILED, Exit
from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("bundle")
@click.argument("job")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to (default: jobdeck-JOB.tar.gz).",
)
@click.option("--with-content", is_flag=True, help="Also what the job was given and what it made.")
@target_options
def bundle_command(target: Target, *, job: str, output: Path | None, with_content: bool) -> None:
    """Save all that is on record about JOB as a .tar.gz, without secrets, to send to whoever must find out."""
    try:
        path, size = asyncio.run(_bundle(target.url(), job, output, content=with_content))
    except FileExistsError as error:
        raise Exit(FAILED, f"{error} is there already and was left as it is; name another with -o.") from None
    except OSError as error:
        raise Exit(FAILED, f"The bundle cannot be written ({error.strerror}); nothing was kept.") from None
    print_line(f"{path}: {size} bytes")


async def _bundle(url: str, given: str, output: Path | None, *, content: bool) -> tuple[Path, int]:
    async with Api(url) as api:
        job_id = await full_id(api, given)
        with Saving(output or Path(bundle_name(job_id))) as saving:
            await api.save_bundle(job_id, saving, content=content)
            return saving.path, saving.bytes


@click.command("resend")
@click.argument("job")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def resend_command(target: Target, *, job: str, reason: str | None, as_json: bool) -> None:
    """Tell the caller of JOB once more, where that was given up."""
    data = asyncio.run(_resend(target.url(), job, reason))
    if as_json:
        print_json(data)
    else:
        print_line(f"callback {callback_words(decode.notification(data))}")


async def _resend(url: str, given: str, reason: str | None) -> object:
    async with Api(url) as api:
        job_id = await full_id(api, given)
        told = decode.job_detail(await api.http.get(job_path(job_id))).notification
        if told is None:
            raise Refused(f"The caller of {job_id} was to be told nothing.", status=409, code="not_eligible")
        return await api.http.post(resend_path(job_id, told.id), {"reason": reason})
