"""What runs a program: the deck itself, ``demo`` and ``serve``."""

import os
import sys
from pathlib import Path

import click

from .exits import USAGE, Exit
from .options import Target, json_option


def open_deck(target: Target, *, read_only: bool) -> int:
    """Open the deck; give its exit code.

    Raises:
        Exit: this is no terminal a deck could be drawn on.
    """
    refuse_without_terminal()
    from jobdeck_tui.app import run

    return run(target.server, target.directory, read_only=read_only)


def refuse_without_terminal() -> None:
    """Refuse to draw where escape codes would end up in a file, or mean nothing.

    Raises:
        Exit: with what to use instead.
    """
    instead = "Use 'jobdeck list', 'jobdeck watch JOB' or 'jobdeck demo --headless'; nothing was started."
    # The deck is drawn on standard error, as Textual does.
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise Exit(USAGE, f"The deck needs a terminal, and this is none. {instead}")
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise Exit(
            USAGE, f"The deck needs a terminal with cursor control, and TERM says otherwise. {instead}"
        )


@click.command("demo")
@click.option(
    "--headless", is_flag=True, help="Tell the story as text, check it, and exit 0 only if all held."
)
@json_option
def demo_command(*, headless: bool, as_json: bool) -> int:
    """Review real documents on a cluster of its own, lose its scheduler, and see every job survive."""
    if as_json and not headless:
        raise click.UsageError("--json goes with --headless.")
    if not headless:
        refuse_without_terminal()
    from jobdeck_tui.demo.run import main

    return main(headless=headless, as_json=as_json)


@click.command("serve")
@click.option("--host", help="Address to listen on (default: 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option(
    "--state-dir", type=click.Path(file_okay=False, path_type=Path), help="Database, journals and logs."
)
@click.option(
    "--artifact-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the bytes of jobs' files are kept (default: in the state directory).",
)
@click.option("--max-running-async-jobs", type=click.IntRange(1, 256), help="Worker processes.")
@click.option("--dask-threads-per-worker", type=click.IntRange(1, 64), help="Slots of each worker.")
@click.option(
    "--recovery",
    type=click.Choice(["auto", "manual"]),
    help="Whether lost jobs are recovered at once, or when an operator applies the plan.",
)
@click.option("--no-drills", is_flag=True, help="Refuse fault drills.")
def serve_command(*, no_drills: bool, **options: object) -> None:
    """Run the backend alone; prints one JSON line once it answers."""
    group: object = click.get_current_context().obj
    if options["state_dir"] is None and isinstance(group, Target):
        options["state_dir"] = group.state_dir
    arguments = [sys.executable, "-m", "jobdeck_backend"]
    for name, value in options.items():
        if value is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    if no_drills:
        arguments.append("--no-drills")
    sys.stdout.flush()
    # This process becomes the backend: its signals and its exit code are the backend's own.
    os.execv(sys.executable, arguments)  # noqa: S606
