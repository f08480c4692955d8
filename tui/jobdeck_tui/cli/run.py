"""What runs a program: the deck itself, ``demo`` and ``serve``."""

import os
import sys

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
    from jobdeck_tui import running
    from jobdeck_tui.config_file import config_path, load_config
    from jobdeck_tui.core.config import Profile
    from jobdeck_tui.opening import Opening

    return running.open_deck(
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


@click.command("serve", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.option("--db-url")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def serve_command(*, db_url: str | None, options: tuple[str, ...]) -> None:
    """Become the backend, which knows its own options and explains them."""
    if db_url is not None:
        # It may hold a password: the list of processes shows arguments to everybody.
        os.environ["JOBDECK_DB_URL"] = db_url
    group: object = click.get_current_context().obj
    if isinstance(group, Target) and group.state_dir is not None:
        os.environ["JOBDECK_STATE_DIR"] = str(group.state_dir)
    sys.stdout.flush()
    # Its signals and its exit code are this process's own.
    os.execv(sys.executable, [sys.executable, "-m", "jobdeck_backend", *options])  # noqa: S606
