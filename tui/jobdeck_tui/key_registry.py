"""The keys of every screen, by the names of what they do: the config file and every sentence ask here."""

from collections.abc import Mapping
from functools import cache

from textual.binding import Binding
from textual.dom import DOMNode

from jobdeck_tui.core.config import Config
from jobdeck_tui.core.key_names import Keymap, Place, keymap


def checked_keys(config: Config) -> Keymap:
    """The keys of a config file that can be given, in Textual's names for them."""
    if not config.keys:
        return Keymap({}, ())
    return keymap({name: _key_names(keys) for name, keys in config.keys.items()}, places())


def _key_names(keys: str) -> str:
    wanted = ",".join(key.strip() for key in keys.split(",") if key.strip())
    return ",".join(binding.key for binding in Binding.make_bindings([Binding(wanted, "")])) if wanted else ""


@cache
def places() -> tuple[Place, ...]:
    """Every screen with its keys."""
    from jobdeck_tui.app import DeckApp
    from jobdeck_tui.screens.job import JobScreen
    from jobdeck_tui.screens.main_screens import MAIN_SCREENS

    whole = _keys(DeckApp)
    screens: list[type[DOMNode]] = [*(load() for load in MAIN_SCREENS.values()), JobScreen]
    return tuple(
        Place(str(getattr(one, "TITLE_WORDS", "")), list({**whole, **_keys(one)}.items())) for one in screens
    )


def _keys(owner: type[DOMNode]) -> dict[str, str]:
    """What each key of a class does, by the names of its bindings; a subclass takes its base's keys over."""
    found: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if not base.__module__.startswith("jobdeck_tui"):
            continue
        for binding in Binding.make_bindings(base.__dict__.get("BINDINGS", ())):
            if binding.id is not None:
                found[binding.key] = binding.id
    return found


@cache
def first_keys() -> Mapping[str, str]:
    """The first key of each name, as the deck itself gives it."""
    first: dict[str, str] = {}
    for place in places():
        for key, name in place.keys:
            first.setdefault(name, key)
    return first
