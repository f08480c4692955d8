"""What the README and the pages it links state, and the program can be asked."""

import re
from pathlib import Path

import click
import pytest
from jobdeck_backend.settings import Settings
from jobdeck_tui.cli import COMMANDS, root
from jobdeck_tui.cli.exits import EPILOGUE

ROOT = Path(__file__).parent.parent
README_LINES_MAX = 220
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = {path: path.read_text() for path in (README, *PAGES)}
COMMAND_PAGE = TEXTS[ROOT / "docs/commands.md"]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def usage_lines() -> list[str]:
    """Each ``jobdeck …`` of the page of commands, with the lines that go on with it."""
    block = re.search(r"^```\n(.+?)^```", COMMAND_PAGE, re.MULTILINE | re.DOTALL)
    assert block
    return re.split(r"(?:^|\s+)jobdeck ", block[1])[1:]


def test_the_readme_is_short_and_leads_to_every_page():
    assert len(TEXTS[README].splitlines()) <= README_LINES_MAX
    assert [page.name for page in PAGES if f"](docs/{page.name})" not in TEXTS[README]] == []


def test_each_link_leads_somewhere():
    broken = []
    for page, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, anchor = target.partition("#")
            goal = page.parent / name if name else page
            if not goal.exists() or (anchor and anchor not in anchors(goal)):
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_the_configuration_table_is_the_settings_with_their_defaults(monkeypatch, tmp_path):
    for name in Settings.model_fields:
        monkeypatch.delenv(f"JOBDECK_{name.upper()}", raising=False)
    settings = Settings().model_dump(exclude={"state_dir"})
    rows = re.findall(r"^\| `JOBDECK_(\w+)` \| `([^`]+)` \|", TEXTS[ROOT / "docs/operating.md"], re.MULTILINE)
    assert {name.lower(): default for name, default in rows} == {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }


def options_of(name: str) -> set[str]:
    if name == "serve":  # the backend's own: its settings
        return {f"--{field.replace('_', '-')}" for field in Settings.model_fields} | {"--no-drills"}
    command = root.get_command(click.Context(root), name) or root
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def test_the_page_of_commands_has_them_all_each_with_options_that_it_takes():
    told, wrong = set(), []
    for line in usage_lines():
        words = line.split()[0]
        names = words.split("|")
        told |= {name for name in names if not name.startswith("-")}
        taken = set().union(*map(options_of, names))
        wrong += [f"{words} {option}" for option in set(re.findall(r"--[a-z-]+", line)) - taken]
    assert told == set(COMMANDS)
    assert wrong == []


def test_the_page_of_commands_has_the_exit_codes_that_the_help_tells():
    rows = re.findall(r"^\| ([\d, ]+) \|", COMMAND_PAGE, re.MULTILINE)
    assert set(re.findall(r"\d+", EPILOGUE)) == set(re.findall(r"\d+", " ".join(rows)))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make (\w+)`", "".join(TEXTS.values())))))
def test_each_make_target_named_exists(target):
    assert re.search(rf"^{target}:.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_each_fault_of_the_contracts_peers_names_tests_that_exist():
    table = (ROOT / "tests/conformance/README.md").read_text()
    written = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in re.findall(r"`(test_\w{20,})`", table) if f"def {name}(" not in written] == []
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and "---" not in line]
    numbers = [row[0].removeprefix("| ") for row in rows if row[0][2:].isdigit()]
    assert numbers == [str(number) for number in range(1, 23)]
    assert [row for row in rows if row[-1] != "found by |" and "`test_" not in row[-1]] == []
