"""``backup``: a copy of the database to restore from, of a running server or of a state directory at rest."""

import asyncio
import json
from pathlib import Path

import click

from jobdeck_tui.client.api import Api
from jobdeck_tui.client.instance import running_instance
from jobdeck_tui.client.saving import Saving
from jobdeck_tui.text.format import plural

from .backend_program import run_program
from .exits import FAILED, Exit
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@json_option
@target_options
def backup_command(target: Target, *, file: Path, force: bool, as_json: bool) -> None:
    """Save the database as it is now as FILE, checked, for your eyes only; the server goes on meanwhile.

    To restore it: with no server running, put it as jobdeck.db into an empty state directory and start there.
    """
    running = target.server is not None or running_instance(target.directory) is not None
    try:
        made = (
            asyncio.run(_save(target.url(), file, force)) if running else _copy(target.directory, file, force)
        )
    except FileExistsError:
        raise Exit(
            FAILED, f"{file} is there already and was left as it is; --force writes over it."
        ) from None
    except OSError as error:
        raise Exit(FAILED, f"{file} cannot be written ({error.strerror}); nothing was kept.") from None
    if as_json:
        print_json({"file": str(file), **made})
        return
    print_line(f"{file}: {made['bytes']} bytes, sha256 {made['sha256']}")
    if violations := int(str(made["violations"])):
        print_line(
            f"The copy is faithful, and so it has {plural(violations, 'violation')}: see 'jobdeck fsck'."
        )


async def _save(url: str, file: Path, force: bool) -> dict[str, object]:  # noqa: FBT001
    async with Api(url) as api:
        with Saving(file, over=force) as saving:
            violations = await api.save_backup(saving)
            return {"bytes": saving.bytes, "sha256": saving.sha256, "violations": violations}


def _copy(directory: Path, file: Path, force: bool) -> dict[str, object]:  # noqa: FBT001
    """The backend's own copy, in a process of its own.

    Raises:
        Exit: there is no whole database.
    """
    if file.exists() and not force:
        raise FileExistsError(file)
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    told = run_program("upkeep", str(directory), str(part))
    part.replace(file)
    return dict(json.loads(told))
