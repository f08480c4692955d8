"""The command line: ``jobdeck`` opens the deck, its commands do the same acts for scripts.

What a command needs is imported when that command runs: the deck must be up in half a second, and
``jobdeck list`` has no use for a terminal library. Nothing here ever writes an escape code.
"""

import importlib
import sys

import click

from .exits import EPILOGUE, exit_code
from .options import Target, server_url, target_options

COMMANDS = {
    "demo": "run",
    "web": "web",
    "serve": "run",
    "config": "config",
    "submit": "submit",
    "list": "read",
    "show": "read",
    "watch": "watch",
    "why": "whole",
    "overview": "whole",
    "cluster": "whole",
    "events": "events",
    "artifacts": "artifacts",
    "fetch": "artifacts",
    "cancel": "acts",
    "expire": "acts",
    "resume": "acts",
    "grant": "acts",
    "clone": "line",
    "priority": "line",
    "verdict": "verdict",
    "queues": "queues",
    "pause": "queues",
    "unpause": "queues",
    "drain": "workers",
    "undrain": "workers",
    "restart": "workers",
    "log": "workers",
    "failures": "failures",
    "audit": "audit",
    "reconcile": "recovery",
    "fsck": "recovery",
    "drill": "drill",
    "drills": "whole",
    "storage": "storage",
    "prune": "storage",
    "backup": "backup",
    "bundle": "bundle",
    "resend": "bundle",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported only when one of them is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Give the commands in the order in which they are explained."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command and give the command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command


@click.group(cls=LazyGroup, invoke_without_command=True, epilog=EPILOGUE)
@click.option("--view", default="", help="Begin with a saved view of the config file.")
@click.option(
    "--safe-mode", is_flag=True, help="Begin with defaults: leave what was kept of earlier sessions aside."
)
@click.option(
    "--read-only", is_flag=True, envvar="JOBDECK_READ_ONLY", help="The deck shows all and lets no act out."
)
@target_options
@click.version_option(package_name="jobdeck", message="jobdeck %(version)s")
@click.option(
    "--dask-dashboard",
    metavar="URL",
    callback=server_url,
    help="Dask's dashboard to look at: any cluster's without --server, else in place of the one it names.",
)
@click.pass_context
def root(
    context: click.Context,
    target: Target,
    *,
    view: str,
    safe_mode: bool,
    read_only: bool,
    dask_dashboard: str | None,
) -> None:
    """See and steer asynchronous agent jobs on Dask.

    Without a command: the deck, on the server named or on a backend of its own.
    """
    context.obj = target
    if context.invoked_subcommand is None:
        from .run import open_deck

        context.exit(
            open_deck(
                target, view=view, safe=safe_mode, read_only=read_only, dask_dashboard=dask_dashboard or ""
            )
        )
    if dask_dashboard is not None:
        raise click.UsageError("--dask-dashboard is for the deck, not for a command.")


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; give its exit code."""
    try:
        code = root.main(args=arguments, prog_name="jobdeck", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        return exit_code(error)
    return code if isinstance(code, int) else 0
