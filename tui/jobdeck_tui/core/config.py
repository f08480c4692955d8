"""What a config file says: servers by name, keys, saved views, manners. A mistake is told and costs only itself.

profile = "prod"                 # used when none is named
grace_seconds = 3

[profiles.prod]
url = "https://deck.example:8443"
environment = "PROD"             # acts ask first
read_only = true
token_file = "~/.deck-token"     # who one is there, where the server asks

[keys]
"act.cancel" = "X"

[views.late]
filter = "left<60s"
sort = "left"
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from jobdeck_tui.client.address import is_address

from .columns import COLUMNS
from .filter import FilterError
from .filter_fields import JOBS
from .sort import COLUMN_KEYS

GRACE_SECONDS_MAX = 60.0
NAME_CHARACTERS_MAX = 40
PRODUCTION = frozenset({"PROD", "PRODUCTION", "LIVE"})
"""Environments in which one key is never enough."""
SECRET = frozenset({"token", "secret", "password", "key", "authorization"})

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Profile:
    """One server: its address (None: the backend of this machine) and how careful one is with it."""

    name: str
    url: str | None = None
    environment: str = ""
    read_only: bool = False
    grace_seconds: float | None = None
    token_file: str = ""

    @property
    def guarded(self) -> bool:
        """Whether every act asks first."""
        return self.environment.upper() in PRODUCTION


def server_words(profile: Profile) -> str:
    """Say where a profile leads and how careful one is there."""
    where = profile.url or "the backend of this machine"
    return "  ".join(mark for mark in (where, profile.environment, "read-only" * profile.read_only) if mark)


@dataclass(frozen=True, slots=True)
class SavedView:
    """A filter, an order and a choice of columns under one name; no columns means all."""

    name: str
    filter: str = ""
    sort: str = "risk"
    reverse: bool = False
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """Everything a config file can say, with its defaults; ``problems`` are for the operator, in words."""

    profile: str = ""
    read_only: bool = False
    grace_seconds: float = 3.0
    theme: str = ""
    mouse: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    views: Mapping[str, SavedView] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_config(data: Mapping[str, Any]) -> Config:
    """Read what a parsed file says."""
    table = _Table("", data)
    profiles = {
        name: profile for name, one in table.tables("profiles") if (profile := _profile(one)) is not None
    }
    views = {name: _view(one) for name, one in table.tables("views")}
    keys = {
        str(name): value
        for name, value in table.table("keys").data.items()
        if _is(str, value) or table.complain(f"keys.{name}", 'a key such as "X" or "ctrl+x"')
    }
    config = Config(
        profile=table.take("profile", str, ""),
        read_only=table.take("read_only", bool, default=False),
        grace_seconds=_grace(table, 3.0),
        theme=table.take("theme", str, ""),
        mouse=table.take("mouse", bool, default=True),
        keys=keys,
        profiles=profiles,
        views=views,
    )
    if config.profile and config.profile not in profiles:
        table.problems.append(f"profile: there is no profile {config.profile}.")
    table.tell_unknown({"profiles", "views", "keys"})
    return Config(**{**_fields(config), "problems": tuple(table.problems)})


def _fields(config: Config) -> dict[str, Any]:
    return {name: getattr(config, name) for name in Config.__slots__}


def _profile(table: "_Table") -> Profile | None:
    """None where its address cannot be used: without one a profile would be the backend of this machine."""
    problems = len(table.problems)
    url = table.take("url", str, "")
    if url and not is_address(url, with_secret=False):
        wanted = "an address such as https://deck.example:8443, without a name or password"
        table.problems.append(f"{table.path('url')} must be {wanted}.")
    if len(table.problems) > problems:
        table.problems[-1] += " The profile is left out."
        return None
    profile = Profile(
        name=table.name,
        url=url.rstrip("/") or None,
        environment=table.take("environment", str, "")[:NAME_CHARACTERS_MAX],
        read_only=table.take("read_only", bool, default=False),
        grace_seconds=_grace(table, None),
        token_file=table.take("token_file", str, ""),
    )
    table.tell_unknown(set())
    return profile


def _view(table: "_Table") -> SavedView:
    known = {column.key for column in COLUMNS}
    columns: list[Any] = table.take("columns", list, [])
    if unknown := [str(name) for name in columns if not isinstance(name, str) or name not in known]:
        table.complain("columns", f"columns of {', '.join(sorted(known))}, not {', '.join(unknown)}")
    view = SavedView(
        name=table.name,
        filter=table.take("filter", str, ""),
        sort=table.take("sort", str, "risk"),
        reverse=table.take("reverse", bool, default=False),
        columns=tuple(name for name in columns if isinstance(name, str) and name in known),
    )
    table.tell_unknown(set())
    try:
        JOBS.compile(view.filter)
    except FilterError as error:
        table.problems.append(f"{table.path('filter')}: {error}")
        return SavedView(view.name, "", view.sort, view.reverse, view.columns)
    if view.sort not in COLUMN_KEYS:
        table.complain("sort", f"one of {', '.join(COLUMN_KEYS)}")
        return SavedView(view.name, view.filter, columns=view.columns)
    return view


def _grace(table: "_Table", default: float | None) -> Any:
    seconds = table.take("grace_seconds", float, default)
    if seconds is not None and not 0 <= seconds <= GRACE_SECONDS_MAX:
        table.complain("grace_seconds", f"seconds from 0 to {GRACE_SECONDS_MAX:.0f}")
        return default
    return seconds


def _is(kind: type, value: object) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind)


KIND_WORDS = {
    str: "text in quotes",
    bool: "true or false",
    float: "a number",
    list: "a list of names",
    dict: "a table",
}


class _Table:
    """One table of the file; all tables share one list of what is wrong."""

    def __init__(
        self, name: str, data: Mapping[str, Any], parent: "_Table | None" = None, under: str = ""
    ) -> None:
        self.name = name
        self.data = data
        self.problems: list[str] = [] if parent is None else parent.problems
        self._under = under
        self._taken: set[str] = set()

    def path(self, key: str) -> str:
        """Where a value stands, as in ``profiles.prod.url``."""
        return f"{self._under}{key}"

    def complain(self, key: str, wanted: str) -> bool:
        """A value cannot be used."""
        self.problems.append(f"{self.path(key)} must be {wanted}; it is left out.")
        return False

    def take(self, key: str, kind: type, default: Value) -> Value:
        """A value, or its default where there is none or a wrong one."""
        self._taken.add(key)
        value: Any = self.data.get(key, default)
        if value is not default and not _is(kind, value):
            self.complain(key, KIND_WORDS[kind])
            return default
        return cast("Value", value)

    def table(self, key: str) -> "_Table":
        """A table within this one."""
        return _Table(key, self.take(key, dict, {}), self, f"{self._under}{key}.")

    def tables(self, key: str) -> list[tuple[str, "_Table"]]:
        """The tables by name within a table."""
        found = []
        for name, data in self.table(key).data.items():
            if isinstance(data, dict):
                found.append((name, _Table(name, data, self, f"{key}.{name}.")))
            else:
                self.complain(f"{key}.{name}", KIND_WORDS[dict])
        return found

    def tell_unknown(self, taken: set[str]) -> None:
        """Names nobody asked for: misspelt, or a secret that does not belong here."""
        for key in self.data.keys() - self._taken - taken:
            if key.lower() in SECRET:
                self.problems.append(
                    f"{self.path(key)} is ignored: secrets come from the environment, never from this file."
                )
            else:
                self.problems.append(f"{self.path(key)} is not known here.")
