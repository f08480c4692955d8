"""Keys that a config file gives to bindings: which can be given, and what is wrong with the others."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_PUNCTUATION = re.compile(r"[^A-Za-z0-9_.]+")
FIXED = frozenset({"escape", "enter", "ctrl+c", "ctrl+q"})
"""What leads out of anything, and what opens: never another thing's key."""


def binding_id(action: str) -> str:
    """Give the name of what a key does, as in ``act.cancel`` or ``sort.1``, from its action."""
    name = action.removeprefix("app.").replace("(", ".").replace("'", "").replace('"', "").replace(")", "")
    return _PUNCTUATION.sub(".", name.replace("-", "minus")).strip(".")


class Place(NamedTuple):
    """A screen with all its keys and the names of what they do, those of the whole program included."""

    name: str
    keys: Sequence[tuple[str, str]]


class Keymap(NamedTuple):
    """What can be given, as ids with their keys, and what cannot, in words."""

    keys: Mapping[str, str]
    problems: tuple[str, ...]


def keymap(wanted: Mapping[str, str], places: Iterable[Place]) -> Keymap:
    """Check the keys that are wanted (several with commas between): none may do two things on one screen."""
    places = list(places)
    known = {name for place in places for _, name in place.keys}
    given: dict[str, str] = {}
    problems: list[str] = []
    for name, key in wanted.items():
        if name not in known:
            problems.append(f"keys: nothing is named {name} ('jobdeck config --keys' lists the names).")
        elif not key or FIXED.intersection(key.split(",")):
            problems.append(f"keys: {name} cannot have the key {key or 'nothing'}.")
        else:
            given[name] = key
    while clash := _clash(given, places):
        name, other, key, screen = clash
        del given[name]
        problems.append(f"keys: {key} is the key of {other} on {screen}; {name} keeps its own.")
    return Keymap(given, tuple(problems))


def _clash(given: Mapping[str, str], places: Iterable[Place]) -> tuple[str, str, str, str] | None:
    for place in places:
        here = {name for _, name in place.keys}
        holders = {key: name for key, name in place.keys if name not in given}
        for name, keys in given.items():
            for key in keys.split(",") if name in here else ():
                if holders.setdefault(key, name) != name:
                    return name, holders[key], key, place.name
    return None
