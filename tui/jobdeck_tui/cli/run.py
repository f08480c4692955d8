"""What runs a program: the deck itself, ``demo`` and ``serve``."""

import os
import sys
from pathlib import Path

import click

from .exits import USAGE, Exit
from .options import Target, json_option


def open_deck(
    target: Target,
    *,
    view: str = "",
    safe: bool = False,
    read_only: bool = False,
    dask_dashboard: str = "",
) -> int:
    """Open the deck, with a saved ``view``, without what was kept (``safe``), without acts; give its exit code.

    Raises:
        Exit: this is no terminal a deck could be drawn on.
    """
    refuse_without_terminal()
    from jobdeck_tui import app
    from jobdeck_tui.config_file import config_path, load_config
    from jobdeck_tui.core.config import Profile
    from jobdeck_tui.opening import Opening

    return app.open_deck(
        Opening(
            profile=target.named or Profile(_address_name(target.server), target.server),
            config=load_config(config_path()),
            view=view,
            read_only=read_only,
            safe=safe,
            state_dir=target.directory,
            dask_dashboard=dask_dashboard,
        )
    )


def _address_name(server: str | None) -> str:
    """Under which name the view of a server without a profile is kept."""
    return "local" if server is None else server.split("://", 1)[-1]


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
@click.option(
    "--db-url", help="postgresql://… or sqlite:///PATH, in place of a database in the state directory."
)
@click.option(
    "--scheduler-address", help="tcp://… or tls://… of a Dask scheduler to use in place of an own one."
)
@click.option(
    "--tls-ca-file", type=click.Path(dir_okay=False), help="With --tls-cert and --tls-key, for tls://."
)
@click.option("--tls-cert", type=click.Path(dir_okay=False))
@click.option("--tls-key", type=click.Path(dir_okay=False))
@click.option(
    "--max-running-async-jobs",
    "--max-concurrent-jobs",
    "max_running_async_jobs",
    type=click.IntRange(1, 256),
    help="Worker processes of the embedded cluster.",
)
@click.option("--dask-threads-per-worker", type=click.IntRange(1, 64), help="Slots of each of them.")
@click.option("--scheduler-port", type=click.IntRange(0, 65535), help="Where the embedded scheduler listens.")
@click.option(
    "--workflows", type=click.Path(dir_okay=False), help="A langgraph.json with workflows of your own."
)
@click.option(
    "--recovery",
    type=click.Choice(["auto", "manual"]),
    help="Whether lost jobs are recovered at once, or when an operator applies the plan.",
)
@click.option("--no-drills", is_flag=True, help="Refuse fault drills.")
@click.option(
    "--dask-dashboard", is_flag=True, help="Let the embedded scheduler serve Dask's own pages (bokeh)."
)
def serve_command(*, no_drills: bool, dask_dashboard: bool, **options: object) -> None:
    """Run the backend alone; prints one JSON line once it answers."""
    group: object = click.get_current_context().obj
    if options["state_dir"] is None and isinstance(group, Target):
        options["state_dir"] = group.state_dir
    if (db_url := options.pop("db_url")) is not None:
        # It may hold a password: the list of processes shows arguments to everybody.
        os.environ["JOBDECK_DB_URL"] = str(db_url)
    arguments = [sys.executable, "-m", "jobdeck_backend"]
    for name, value in options.items():
        if value is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    if no_drills:
        arguments.append("--no-drills")
    if dask_dashboard:
        arguments.append("--dask-dashboard")
    sys.stdout.flush()
    # This process becomes the backend: its signals and its exit code are the backend's own.
    os.execv(sys.executable, arguments)  # noqa: S606
