"""Where users' own workflows come from: ``langgraph.json`` and installed packages. Nothing of theirs is imported.

``langgraph.json`` is read as LangGraph's own tools do: ``{"graphs": {"name": "./file.py:graph"}}``, its directory
and the local ``dependencies`` being where imports are looked for. A graph may be an object of ``path``,
``description`` and jobdeck's own ``artifacts``. Its ``env`` is not read: keys come from the environment.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from jobdeck_backend.settings import Settings

GROUP = "jobdeck.workflows"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Source:
    """One workflow's name and where its graph is: ``target`` is ``file.py:name`` or ``package.module:name``."""

    name: str
    target: str
    origin: str
    """Who names it: a file, or an installed package."""
    paths: tuple[str, ...] = ()
    """Where its imports are looked for."""
    description: str = ""
    artifacts: bool = False
    """Whether its author says that it leaves files behind (R31)."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A workflow that cannot be used, and why."""

    name: str
    origin: str
    problem: str


def read_sources(settings: Settings) -> tuple[list[Source], list[Broken]]:
    """What is named, and what is named in a way that cannot be used."""
    sources: list[Source] = []
    broken: list[Broken] = []
    found = [*_installed(), *([] if settings.workflows is None else _listed(settings.workflows))]
    for one in found:
        if isinstance(one, Source) and any(one.name == other.name for other in sources):
            one = Broken(one.name, one.origin, "another workflow has that name already")
        if isinstance(one, Broken):
            broken.append(one)
        else:
            sources.append(one)
    return sources, broken


def _installed() -> Iterator[Source | Broken]:
    for point in entry_points(group=GROUP):
        origin = f"package {point.dist.name}" if point.dist else "an installed package"
        yield _checked(point.name, {"path": point.value}, origin, ())


def listed_graphs(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The graphs and dependencies that a ``langgraph.json`` names. Raises ``ValueError`` with what is wrong."""
    try:
        listed = json.loads(path.read_text())
        return dict(listed["graphs"]), [str(one) for one in listed.get("dependencies", [])]
    except OSError as error:
        raise ValueError(f"the file cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f'the file is no JSON object with "graphs" ({reason})') from None


def _listed(path: Path) -> Iterator[Source | Broken]:
    path = path.absolute()
    try:
        graphs, dependencies = listed_graphs(path)
    except ValueError as error:
        yield Broken(path.name, str(path), str(error))
        return
    local = [str((path.parent / one).resolve()) for one in dependencies if one.startswith(".")]
    for name, value in graphs.items():
        given = value if isinstance(value, dict) else {"path": value}
        yield _checked(name, given, str(path), (str(path.parent), *local))


def _checked(name: str, given: Mapping[str, Any], origin: str, paths: tuple[str, ...]) -> Source | Broken:
    target, artifacts = given.get("path"), given.get("artifacts", False)
    if not _NAME.fullmatch(name):
        return Broken(
            name, origin, "a workflow's name is 1 to 64 letters, digits, dots, - or _, no dot first"
        )
    if not isinstance(target, str) or not all(target.rpartition(":")):
        return Broken(name, origin, 'it is not given as "./file.py:graph" or "package.module:graph"')
    if not isinstance(artifacts, bool):
        return Broken(name, origin, '"artifacts" says true, or false, whether it leaves files behind')
    return Source(name, target, origin, paths, str(given.get("description", "")), artifacts)
