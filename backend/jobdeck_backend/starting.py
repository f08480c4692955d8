"""How a program of this package starts: with its environment's settings, or not at all, in one sentence."""

import sys
from typing import Any

import click
from pydantic import ValidationError

from jobdeck_backend.errors import StartRefused
from jobdeck_backend.settings import Settings, what_is_wrong


def read_settings(**given: Any) -> Settings:
    """What is ``given``, and the environment's settings. Raises ``UsageError`` for values that cannot be."""
    try:
        return Settings(**given)
    except ValidationError as error:
        raise click.UsageError(what_is_wrong(error)) from None


def run(command: click.Command, program: str) -> None:
    """Run a command, called ``program``; a refusal is one sentence and an exit code, as of every other one."""
    try:
        command.main(prog_name=program, standalone_mode=False)
    except click.ClickException as error:
        said = error.format_message()
        stop = "" if said.endswith((".", "!", "?")) else "."
        click.echo(f"jobdeck: {said}{stop} Try '{program} --help'.", err=True)
        sys.exit(error.exit_code)
    except StartRefused as refused:
        click.echo(f"jobdeck: {refused.message}", err=True)
        sys.exit(refused.exit_code)
