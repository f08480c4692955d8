"""``python -m jobdeck_backend.upkeep DIRECTORY FILE``: a backup of a state directory that no backend serves."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.errors import JobdeckError, StartRefused
from jobdeck_backend.starting import read_settings, run
from jobdeck_backend.store.migrate import EXIT_DATABASE
from jobdeck_backend.store.trouble import cause_of
from jobdeck_backend.upkeep.backup import back_up


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def command(directory: Path, file: Path) -> None:
    """Write the backup and print what it is as JSON; exit with 13 if there is no whole database."""
    settings = read_settings(state_dir=directory)
    path = settings.database_path
    if settings.database_place != path:
        raise StartRefused("a PostgreSQL database is backed up by pg_dump; nothing was done", EXIT_DATABASE)
    if not path.exists():  # opening it would make one
        raise StartRefused(f"there is no database in {directory}", EXIT_DATABASE)
    try:
        backup = back_up(path, file)
    except (JobdeckError, DBAPIError, OSError) as error:
        reason = error.message if isinstance(error, JobdeckError) else cause_of(error)
        raise StartRefused(f"no backup was made: {reason}", EXIT_DATABASE) from None
    click.echo(json.dumps({**asdict(backup.copied), "violations": len(backup.violations)}))


if __name__ == "__main__":
    run(command, "jobdeck backup")
