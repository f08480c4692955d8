"""House rules that a reader relies on, kept by the machine: sizes, layers, one place for each kind of thing."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

BACKEND, DECK = "jobdeck_backend", "jobdeck_tui"

# What each part of the backend may import of it, beside itself.
LEAVES = {
    "__version__",
    "errors",
    "settings",
    "clock",
    "plural",
    "faults",
    "logs",
    "loops",
    "instance",
    "addresses",
    "kept_secret",
}
LAYERS = {
    "errors": set(),
    "settings": set(),
    "clock": set(),
    "plural": set(),
    "faults": set(),
    "logs": set(),
    "loops": {"errors"},
    "instance": LEAVES,
    "addresses": {"errors"},
    "kept_secret": LEAVES,
    "starting": {"errors", "settings"},
    "identity": LEAVES | {"starting"},
    "jobs": LEAVES,
    "store": LEAVES | {"jobs"},
    "commands": LEAVES | {"jobs", "store"},
    "workflows": {"settings", "errors", "clock", "plural", "addresses", "jobs.records"},
    "scheduling": LEAVES | {"jobs", "store", "commands", "workflows"},
    "notify": LEAVES | {"jobs", "store", "commands"},
    "upkeep": LEAVES | {"starting", "jobs", "store", "commands", "recovery"},
    "recovery": LEAVES | {"starting", "jobs", "store", "commands", "scheduling"},
    "api": LEAVES
    | {"jobs", "store", "commands", "scheduling", "recovery", "upkeep", "workflows.registry"}
    | {"identity"},
}
COMPOSING = {"app", "__main__", "__init__"}

# What may use a library: the first part of the module's name within its package.
ONLY = {
    "distributed": {"scheduling"},
    "dask": {"scheduling"},
    "sqlalchemy": {"store", "commands", "recovery", "upkeep", "app", "api", "scheduling"},
    "alembic": {"store"},
    "jwt": {"identity"},
    "httpx": {"addresses", "identity", "notify", "workflows"},
    "fastapi": {"api", "app"},
    "starlette": {"api", "app"},
    "langgraph": {"workflows", "store", "scheduling"},
    "langchain_core": {"workflows", "store", "scheduling"},
}
# Outside the store, SQLAlchemy is a connection to pass on and errors to tell apart; statements are the store's.
SQLALCHEMY_ELSEWHERE = {"Connection", "DBAPIError", "DataError", "IntegrityError", "OperationalError"}
STATEMENTS = {"exec_driver_sql", "executescript", "scalar_one", "scalars"}
FREE_OF_WIDGETS = ("client", "core", "text")

VAGUE_NAMES = {"utils", "util", "common", "misc", "helpers", "helper"}
SHOWN = {"Static", "Label", "notify", "update"}
TITLES = {"border_title", "border_subtitle", "tooltip"}
PRIVATE_PLACES = re.compile(
    r"/(?:home|root|Users)/[a-z]|/work/[a-z]|/opt/[a-z]|pypi|//[\w.-]*(?:nexus|artifactory|mirror)"
)


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


@cache
def source(path: Path) -> str:
    return path.read_text(errors="replace")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a module, walked once for every rule."""
    return tuple(ast.walk(ast.parse(source(path))))


@pytest.fixture(scope="module", autouse=True)
def _forgotten_after() -> Iterator[None]:
    """A million nodes would be looked through by every garbage collection to come."""
    yield
    nodes.cache_clear()


PYTHON = tracked("*.py")
BACKEND_MODULES = [path for path in PYTHON if BACKEND in path.parts]
DECK_MODULES = [path for path in PYTHON if DECK in path.parts]
TESTS = [path for path in PYTHON if path.is_relative_to(ROOT / "tests")]


def shown(path: Path, line: int | None = None) -> str:
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"


def within(path: Path, package: str) -> tuple[str, ...]:
    """A module's place inside its package, such as ``("store", "jobs")``."""
    parts = path.with_suffix("").parts
    return parts[len(parts) - parts[::-1].index(package) :]


@cache
def imports(path: Path, package: str | None = None) -> list[tuple[str, int]]:
    """Every imported module or member, dotted, with its line; relative ones are made absolute."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and package is not None:
                here = (package, *within(path, package))
                base = ".".join([*here[: len(here) - node.level], *([base] if base else [])])
            found += [(f"{base}.{alias.name}", node.lineno) for alias in node.names]
    return found


def allows(allowed: set[str], imported: str) -> bool:
    return any(imported == one or imported.startswith(f"{one}.") for one in allowed)


def fail_on(broken: list[str]) -> None:
    assert not broken, "\n" + "\n".join(broken)


def test_no_module_is_longer_than_400_lines():
    lengths = {path: len(source(path).splitlines()) for path in PYTHON}
    fail_on([f"{shown(path)}: {n} lines" for path, n in lengths.items() if n > MODULE_LINES_MAX])


def test_no_function_is_longer_than_70_lines():
    fail_on(
        [
            f"{shown(path, node.lineno)} {node.name}: {node.end_lineno - node.lineno + 1} lines"
            for path in PYTHON
            if "migrations" not in path.parts
            for node in nodes(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX
        ]
    )


def test_backend_imports_run_one_way():
    broken = []
    for path in BACKEND_MODULES:
        part = within(path, BACKEND)[0]
        if part in COMPOSING:
            continue
        allowed = LAYERS[part] | {part}
        for name, line in imports(path, BACKEND):
            inside = name.removeprefix(f"{BACKEND}.")
            if inside != name and not allows(allowed, inside):
                broken.append(f"{shown(path, line)}: {part} must not import {inside}")
    fail_on(broken)


def test_backend_and_deck_import_nothing_of_each_other():
    fail_on(
        [
            f"{shown(path, line)}: {name}"
            for modules, other in ((DECK_MODULES, BACKEND), (BACKEND_MODULES, DECK))
            for path in modules
            for name, line in imports(path)
            if name.split(".")[0] == other
        ]
    )


def test_the_decks_core_knows_no_widgets():
    fail_on(
        [
            f"{shown(path, line)}: {name}"
            for path in DECK_MODULES
            if within(path, DECK)[0] in FREE_OF_WIDGETS
            for name, line in imports(path, DECK)
            if name.split(".")[0] in {"textual", "rich"}
            or name.startswith((f"{DECK}.screens", f"{DECK}.widgets", f"{DECK}.app"))
        ]
    )


@pytest.mark.parametrize("library", sorted(ONLY))
def test_a_library_is_used_only_where_it_belongs(library):
    fail_on(
        [
            f"{shown(path, line)}: {name}"
            for path in BACKEND_MODULES
            if within(path, BACKEND)[0] not in ONLY[library]
            for name, line in imports(path)
            if name.split(".")[0] == library
        ]
    )


def test_statements_are_written_only_in_the_store():
    broken = []
    for path in BACKEND_MODULES:
        if within(path, BACKEND)[0] == "store":
            continue
        for name, line in imports(path):
            if name.startswith("sqlalchemy.") and name.rsplit(".", 1)[1] not in SQLALCHEMY_ELSEWHERE:
                broken.append(f"{shown(path, line)}: {name}")
            if name.startswith(f"{BACKEND}.store.tables"):
                broken.append(f"{shown(path, line)}: tables are the store's")
        broken += [
            f"{shown(path, node.lineno)}: .{node.attr}"
            for node in nodes(path)
            if isinstance(node, ast.Attribute) and node.attr in STATEMENTS
        ]
    fail_on(broken)


def test_the_deck_shows_no_text_that_was_put_together_as_markup():
    broken = []
    for path in DECK_MODULES:
        for node in nodes(path):
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                values = [*node.args, *(keyword.value for keyword in node.keywords)]
                if name in SHOWN and any(isinstance(value, ast.JoinedStr) for value in values):
                    broken.append(f"{shown(path, node.lineno)}: f-string given to {name}")
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.JoinedStr):
                titles = [t.attr for t in node.targets if isinstance(t, ast.Attribute) and t.attr in TITLES]
                broken += [f"{shown(path, node.lineno)}: f-string given to {title}" for title in titles]
        broken += [
            f"{shown(path, line)}: {name}: escaping is no defence, markup-free content is"
            for name, line in imports(path)
            if name in {"rich.markup.escape", "textual.markup.escape"}
        ]
    fail_on(broken)


def test_no_file_has_a_name_that_says_nothing():
    fail_on([shown(path) for path in tracked() if path.stem in VAGUE_NAMES])


def test_nothing_of_the_machine_it_was_made_on_is_in_the_project():
    broken = []
    for path in tracked():
        if path.suffix in {".png", ".svg"} or path == Path(__file__):
            continue
        for found in PRIVATE_PLACES.finditer(text := source(path)):
            number = text.count("\n", 0, found.start()) + 1
            broken.append(f"{shown(path, number)}: {text.splitlines()[number - 1].strip()[:80]}")
    fail_on(broken)


def sleeps(path: Path) -> Iterator[int]:
    """Lines that sleep for a time without being a polling loop's pause between two looks."""
    polling = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in nodes(path)
        if isinstance(node, ast.While)
    ]
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep":
            yields = bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            if not yields and not any(node.lineno in lines for lines in polling):
                yield node.lineno


def test_tests_wait_on_conditions_and_sleep_only_between_two_looks():
    fail_on([f"{shown(path, line)}: sleep" for path in TESTS for line in sleeps(path)])
