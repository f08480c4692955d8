"""Which server a command talks to."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from jobdeck_tui.client.instance import default_state_dir, running_instance

from .exits import NOT_REACHABLE, Exit


@dataclass(frozen=True, slots=True)
class Target:
    """A server by its URL, or the one that runs on a state directory."""

    server: str | None
    state_dir: Path | None

    @property
    def directory(self) -> Path:
        """The state directory named, or the default one."""
        return self.state_dir or default_state_dir()

    def url(self) -> str:
        """Give the server's address.

        Raises:
            Exit: none was named and none runs here.
        """
        if self.server is not None:
            return self.server
        found = running_instance(self.directory)
        if found is None:
            raise Exit(
                NOT_REACHABLE,
                f"No backend runs on {self.directory}. "
                "Start one with 'jobdeck' or 'jobdeck serve', or name one with --server URL.",
            )
        return found.url


def server_url(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Read an option that names a server; click's own usage error where it is none."""
    if value is None:
        return None
    import httpx

    try:
        url = httpx.URL(value)
        usable = (
            url.scheme in ("http", "https")
            and url.host != ""
            and (url.port is None or 0 < url.port < 65536)
            and (url.raw_path, url.fragment) == (b"/", "")
        )
    except (httpx.InvalidURL, ValueError):  # among the latter, names that cannot be looked up
        usable = False
    if not usable:
        raise click.BadParameter("write it as http://host:port")
    return value.rstrip("/")


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
        "--state-dir",
        metavar="DIRECTORY",
        type=click.Path(file_okay=False, path_type=Path),
        help="The state directory whose backend is meant (default: JOBDECK_STATE_DIR, else the user's own).",
    )
    @functools.wraps(command)
    def with_target(*args: Any, server: str | None, state_dir: Path | None, **kwargs: Any) -> Any:
        group: object = click.get_current_context().obj
        if isinstance(group, Target) and server is None and state_dir is None:
            target = group
        else:
            target = Target(server, state_dir)
        return command(*args, target=target, **kwargs)

    return with_target


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
