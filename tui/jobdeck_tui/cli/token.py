"""``token``: one that says who somebody is to a server that asks, made with the server's own secret."""

from pathlib import Path

import click

from jobdeck_tui.client.instance import default_state_dir

from .backend_program import run_program

ROLES = ("viewer", "operator", "drill")


@click.command("token")
@click.argument("name")
@click.option(
    "--role",
    "roles",
    type=click.Choice(ROLES),
    multiple=True,
    help="What NAME may do beside its own jobs: see everybody's, act on them, inject faults.",
)
@click.option(
    "--hours", type=click.FloatRange(0, 24 * 366, min_open=True), default=12.0, help="How long it is valid."
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The server's state directory, where its secret is, unless JOBDECK_TOKEN_SECRET has it.",
)
def token_command(*, name: str, roles: tuple[str, ...], hours: float, state_dir: Path | None) -> None:
    """Print a token for NAME that a server with --auth takes: as JOBDECK_TOKEN, or in a profile's file."""
    named = [f"--role={role}" for role in roles]
    place = str(state_dir or default_state_dir())
    told = run_program("identity", *named, f"--hours={hours}", "--", name, JOBDECK_STATE_DIR=place)
    click.echo(told.strip())
