"""``python -m jobdeck_backend.recovery DIRECTORY``: ``fsck`` of a state directory that no backend need serve."""

import json
import sys
import time
from contextlib import closing
from pathlib import Path

import click

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.recovery import fsck
from jobdeck_backend.starting import read_settings, run
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import EXIT_DATABASE, usable


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def command(directory: Path) -> None:
    """Print what is broken as JSON; exit with 1 if anything is, with 13 if the database cannot be read."""
    settings = read_settings(state_dir=directory)
    if settings.db_url is None and not settings.database_path.exists():  # opening it would make one
        raise StartRefused(f"there is no database in {directory}", EXIT_DATABASE)
    began = time.monotonic()
    database = Database(settings.database_place, synchronous="NORMAL")
    with closing(database), usable(database):
        violations = fsck.check_instance(database, settings)
    click.echo(json.dumps(fsck.report(violations, time.monotonic() - began)))
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    run(command, "jobdeck fsck")
