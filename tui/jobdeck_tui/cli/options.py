"""Which server a command talks to."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jobdeck_tui.client import credentials
from jobdeck_tui.client.address import is_address
from jobdeck_tui.client.instance import await_start, default_state_dir
from jobdeck_tui.config_file import config_path, load_config

from .exits import NOT_REACHABLE, REFUSED, Exit

if TYPE_CHECKING:
    from jobdeck_tui.core.config import Profile


class Target(NamedTuple):
    """A server by its URL, or the one that runs on a state directory."""

    server: str | None
    state_dir: Path | None
    named: "Profile | None" = None
    trouble: str = ""
    """Why the server that the config file means is not known: then none is, least of all this machine's."""

    @property
    def directory(self) -> Path:
        """The state directory named, or the default one."""
        return self.state_dir or default_state_dir()

    def url(self) -> str:
        """Give the server's address; one that is starting here is waited for.

        Raises:
            Exit: none was named and none runs here.
        """
        if self.server is not None:
            return self.server
        found = await_start(self.directory)
        if found is None:
            raise Exit(
                NOT_REACHABLE,
                f"No backend runs on {self.directory}. "
                "Start one with 'jobdeck' or 'jobdeck serve' (it is there once it has printed its address), "
                "or name one with --server URL.",
            )
        return found.url


def server_url(
    _context: click.Context | None, _parameter: click.Parameter | None, value: str | None
) -> str | None:
    """Read an option that names a server; click's own usage error where it is none."""
    if value is None:
        return None
    if not is_address(value):
        raise click.BadParameter("write it as http://host:port.")
    return value.rstrip("/")


def _target(server: str | None, state_dir: Path | None, profile: str | None) -> Target:
    """What was named most closely: an address, a profile, a state directory, the config file's own profile."""
    if server is not None or (state_dir is not None and profile is None):
        return Target(server, state_dir)
    path = config_path()
    if profile is None and not path.exists():
        return Target(None, state_dir)
    config = load_config(path)
    name = profile or config.profile
    found = config.profiles.get(name)
    if found is not None:
        credentials.keep_in(found.url, found.token_file)
        return Target(found.url, state_dir, found)
    if not name:
        return Target(None, state_dir)
    known = ", ".join(config.profiles) or f"none, see {path}"
    told = next((one for one in config.problems if one.startswith(f"profiles.{name}.")), "")
    trouble = told or f"there is no profile {name}; there are: {known}."
    if profile is not None:
        raise click.BadParameter(trouble, param_hint="--profile")
    return Target(None, state_dir, trouble=f"{path}: {trouble}")


CHANGING = frozenset(
    {
        *("submit", "cancel", "expire", "resume", "grant", "clone", "priority", "verdict", "pause"),
        *("unpause", "drain", "restart", "resend", "drill", "reconcile", "prune"),
    }
)


def _refuse_change(target: Target, command: str | None, given: dict[str, Any]) -> None:
    """Let a command that changes something not go to a server one only looks at, nor a drill to production.

    Raises:
        Exit: the server's profile is read-only, or of an environment where nothing is drilled.
    """
    profile = target.named
    if profile is None:
        return
    looks = given.get("apply_it") is False or given.get("dry_run") is True
    if profile.read_only and command in CHANGING and not looks:
        raise Exit(REFUSED, f"Profile {profile.name} is read-only in {config_path()}: nothing was sent.")
    if profile.guarded and command == "drill":
        raise Exit(
            REFUSED,
            f"Profile {profile.name} is {profile.environment} in {config_path()}: drills are for other servers. "
            "Nothing was sent.",
        )


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--server`` and ``--state-dir``; the command gets ``target``, the group's where it has none."""

    @click.option(
        "--server",
        metavar="URL",
        envvar="JOBDECK_SERVER",
        callback=server_url,
        help="The server to talk to (default: the backend running on the state directory).",
    )
    @click.option(
        "--profile",
        metavar="NAME",
        envvar="JOBDECK_PROFILE",
        help="A server of the config file, by its name ('jobdeck config' shows them).",
    )
    @click.option(
        "--state-dir",
        metavar="DIRECTORY",
        type=click.Path(file_okay=False, path_type=Path),
        help="The state directory whose backend is meant (default: JOBDECK_STATE_DIR, else the user's own).",
    )
    @functools.wraps(command)
    def with_target(
        *args: Any, server: str | None, state_dir: Path | None, profile: str | None, **kwargs: Any
    ) -> Any:
        group: object = click.get_current_context().obj
        if isinstance(group, Target) and server is None and state_dir is None and profile is None:
            target = group
        else:
            target = _target(server, state_dir, profile)
        if target.trouble and click.get_current_context().invoked_subcommand is None:
            raise click.UsageError(target.trouble)
        _refuse_change(target, click.get_current_context().info_name, kwargs)
        return command(*args, target=target, **kwargs)

    return with_target


json_option = click.option(
    "--json/--plain", "as_json", default=False, help="Print JSON, or plain text (default)."
)
