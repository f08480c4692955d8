"""``config``: where the config file is, what holds, and what in it cannot be used."""

from collections.abc import Iterator
from dataclasses import asdict

import click

from jobdeck_tui.config_file import config_path, load_config
from jobdeck_tui.core.config import Config, server_words

from .exits import FAILED, OK
from .options import json_option
from .output import print_json, print_line

EXAMPLE = """\
# grace_seconds = 3            seconds in which u takes an act back; 0 sends at once
# theme = "dark"
# mouse = true
# read_only = false
# profile = "prod"             the server meant when none is named
# [profiles.prod]
# url = "https://deck.example:8443"
# environment = "PROD"         the deck asks before each act, nothing is drilled
# token_file = "~/.deck-token" who one is there, where the server asks
# [keys]
# "act.cancel" = "X"           'jobdeck config --keys' lists the names
# [views.late]
# filter = "left<60s"
# sort = "left"
# columns = ["note"]           beside id, state and time left"""


@click.command("config")
@click.option("--keys", "list_keys", is_flag=True, help="List what keys do, by the names the file uses.")
@json_option
def config_command(*, list_keys: bool, as_json: bool) -> int:
    """Print the config file's path and the values that hold; exit 1 when something in it cannot be used."""
    from jobdeck_tui.key_registry import checked_keys, places
    from jobdeck_tui.styles.themes import unknown_theme

    if list_keys:
        for place in places():
            for key, name in place.keys:
                print_line(f"{place.name:10} {name:24} {key}")
        return OK
    config = load_config(config_path())
    keys = checked_keys(config)
    problems = [*config.problems, *keys.problems]
    if config.theme and (unknown := unknown_theme(config.theme)):
        problems.append(unknown)
    if as_json:
        print_json(
            {"path": str(config_path()), **asdict(config), "keys": dict(keys.keys), "problems": problems}
        )
    else:
        for line in _lines(config):
            print_line(line)
        for problem in problems:
            print_line(f"problem        {problem}")
    return FAILED if problems else OK


def _lines(config: Config) -> Iterator[str]:
    path = config_path()
    yield f"file           {path}{'' if path.exists() else '  (not there: defaults hold)'}"
    for name in ("profile", "read_only", "grace_seconds", "theme", "mouse"):
        value = getattr(config, name)
        yield f"{name:14} {str(value).lower() if isinstance(value, bool) else value or '-'}"
    for one in config.profiles.values():
        yield f"profile        {one.name}  {server_words(one)}"
    for view in config.views.values():
        yield f"view           {view.name}  {view.filter or 'all jobs'}  by {view.sort}"
    for name, key in config.keys.items():
        yield f"key            {name}  {key}"
    if not path.exists():
        yield "It may say:"
        yield from EXAMPLE.splitlines()
