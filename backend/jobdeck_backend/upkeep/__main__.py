"""``python -m jobdeck_backend.upkeep DIRECTORY FILE``: a backup of a state directory that no backend serves."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.errors import JobdeckError
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.migrate import EXIT_DATABASE
from jobdeck_backend.store.trouble import cause_of
from jobdeck_backend.upkeep.backup import back_up


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def main(directory: Path, file: Path) -> None:
    """Write the backup and print what it is as JSON; exit with 13 if there is no whole database."""
    settings = Settings(state_dir=directory)
    path = settings.database_path
    if settings.database_place != path:
        click.echo("jobdeck: a PostgreSQL database is backed up by pg_dump; nothing was done", err=True)
        sys.exit(EXIT_DATABASE)
    if not path.exists():  # opening it would make one
        click.echo(f"jobdeck: there is no database in {directory}", err=True)
        sys.exit(EXIT_DATABASE)
    try:
        backup = back_up(path, file)
    except (JobdeckError, DBAPIError, OSError) as error:
        reason = error.message if isinstance(error, JobdeckError) else cause_of(error)
        click.echo(f"jobdeck: no backup was made: {reason}", err=True)
        sys.exit(EXIT_DATABASE)
    click.echo(json.dumps({**asdict(backup.copied), "violations": len(backup.violations)}))


if __name__ == "__main__":
    main()
