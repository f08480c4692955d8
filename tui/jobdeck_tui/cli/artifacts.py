"""``artifacts`` and ``fetch``: the files a job left behind."""

import asyncio
from pathlib import Path

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import JOBS, Api, job_path
from jobdeck_tui.client.artifact_bytes import save
from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.text.format import age, padded, size
from jobdeck_tui.text.sanitise import one_line

from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line
from .server_time import server_now


@click.command("artifacts")
@click.argument("job")
@json_option
@target_options
def artifacts_command(target: Target, *, job: str, as_json: bool) -> None:
    """List the files that JOB left behind."""
    data, artifacts, now = asyncio.run(_list(target.url(), job))
    if as_json:
        print_json(data)
        return
    print_line(f"{padded('ID', 36)} {padded('NAME', 32)} {padded('TYPE', 20)} {'SIZE':>6}  SHA256        AGE")
    for one in artifacts:
        print_line(_line(one, now))
    print_line(f"{len(artifacts)} in all.")


async def _list(url: str, given: str) -> tuple[object, tuple[Artifact, ...], float]:
    async with Api(url) as api:
        job_id = await full_id(api, given)
        data = await api.http.get(f"{JOBS}/job/{job_id}/artifacts")
        detail = decode.job_detail(await api.http.get(job_path(job_id)))
        return data, detail.artifacts, await server_now(api)


def _line(one: Artifact, now: float) -> str:
    words = f"{padded(one.artifact_id, 36)} {padded(one.filename, 32)} {padded(one.mime_type, 20)}"
    expired = "  EXPIRED" if one.removed_at is not None else ""
    return f"{words} {size(one.size_bytes):>6}  {one.sha256[:12]}  {age(now - one.created_at)}{expired}"


@click.command("fetch")
@click.argument("job")
@click.argument("file")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="File or directory to write to (default: the working directory). Nothing is ever overwritten.",
)
@json_option
@target_options
def fetch_command(target: Target, *, job: str, file: str, output: Path, as_json: bool) -> None:
    """Save a FILE of JOB, given by its name or id, readable by its owner only."""
    path, one = asyncio.run(_fetch(target.url(), job, file, output))
    if as_json:
        saved = {
            "path": str(path),
            "artifact_id": one.artifact_id,
            "sha256": one.sha256,
            "size": one.size_bytes,
        }
        print_json(saved)
    else:
        print_line(f"{one_line(str(path), 4000)}  {size(one.size_bytes)}  sha256 {one.sha256}")


async def _fetch(url: str, given: str, file: str, output: Path) -> tuple[Path, Artifact]:
    async with Api(url) as api:
        job_id = await full_id(api, given)
        one = _choose((await api.job(job_id)).artifacts, file)
        return await save(api, job_id, one, output), one


def _choose(artifacts: tuple[Artifact, ...], given: str) -> Artifact:
    """Give the file that is meant by its id or its name; of several with one name, the newest.

    Raises:
        Refused: the job has no such file.
    """
    found = [one for one in artifacts if given in (one.artifact_id, one.filename)]
    if found:
        return found[-1]
    names = ", ".join(one.filename for one in artifacts[:10]) or "none"
    raise Refused(f"The job has no file {given}; it has: {names}.", status=404, code="not_found")
