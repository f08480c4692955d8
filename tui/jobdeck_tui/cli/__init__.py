"""The command line: ``jobdeck`` opens the deck, its commands do the same acts for scripts.

What a command needs is imported when that command runs: the deck must be up in half a second, and
``jobdeck list`` has no use for a terminal library. Nothing here ever writes an escape code.
"""

import gc
import importlib
import sys

import click

from .exits import EPILOGUE, exit_code
from .options import Target, server_url, target_options

GARBAGE_OBJECTS = 20_000

COMMANDS = {
    "demo": ("run", "Review real documents, lose the scheduler, and see every job survive."),
    "web": ("web", "Serve the deck to a browser of this machine."),
    "serve": ("run", "Run the backend alone."),
    "token": ("token", "Make a token for a server that asks who one is."),
    "config": ("config", "Show the config file and what holds."),
    "submit": ("submit", "Submit a job."),
    "list": ("read", "List jobs, the most urgent first."),
    "show": ("read", "Show all that is known about a job."),
    "watch": ("watch", "Follow a job's events until it ends."),
    "why": ("whole", "Say why a job is where it is."),
    "overview": ("whole", "Print the whole in a few lines."),
    "cluster": ("whole", "Print Dask's tasks and workers, and where it and the records disagree."),
    "forecast": ("forecast", "Say when a job submitted now would be done."),
    "events": ("events", "Print the events of all jobs as they come."),
    "report": ("report", "Print a job's report."),
    "artifacts": ("artifacts", "List the files that a job left behind."),
    "fetch": ("artifacts", "Save a file of a job."),
    "cancel": ("acts", "Cancel jobs, whether queued or running."),
    "expire": ("acts", "End jobs as if their deadline had passed."),
    "resume": ("acts", "Let held, failed or cancelled jobs go on."),
    "grant": ("acts", "Give jobs a later deadline."),
    "clone": ("line", "Submit a job's request again."),
    "priority": ("line", "Move a job in the line."),
    "verdict": ("verdict", "Say whether an uncertain effect happened."),
    "queues": ("queues", "Print every queue."),
    "pause": ("queues", "Let no job of a queue start."),
    "unpause": ("queues", "Let the jobs of a queue start again."),
    "drain": ("workers", "Let a worker take nothing new."),
    "undrain": ("workers", "Give a drained worker work again."),
    "restart": ("workers", "Drain a worker and put a fresh one in its place."),
    "log": ("workers", "Print the end of a worker's log."),
    "failures": ("failures", "Print what failed, by kind."),
    "audit": ("audit", "Print who did what, and what came of it."),
    "reconcile": ("recovery", "Print what recovery would do, or do it."),
    "fsck": ("recovery", "Check the invariants on all records."),
    "drill": ("drill", "Inject a fault and watch the recovery."),
    "drills": ("whole", "List the drills the server remembers."),
    "storage": ("storage", "Show what the server keeps and the space it takes."),
    "prune": ("storage", "Remove finished jobs with all their records."),
    "backup": ("backup", "Save the database as it is now."),
    "bundle": ("bundle", "Save all that is on record about a job."),
    "resend": ("bundle", "Tell a job's caller once more."),
}
"""The module of each command, and what it does: ``--help`` need not import them all."""


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported only when one of them is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Give the commands in the order in which they are explained."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command and give the command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List what the commands do."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_module, words) in COMMANDS.items()])


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
    # What is imported stays: looking through it every few hundred objects would take a fifth of the start.
    gc.set_threshold(GARBAGE_OBJECTS)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; give its exit code."""
    try:
        code = root.main(args=arguments, prog_name="jobdeck", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        return exit_code(error)
    return code if isinstance(code, int) else 0
